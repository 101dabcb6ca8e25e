// Package page is what a server shows at /: a page to type, to fill blanks, to watch the canvas, and to change models and planners. It needs
// nothing but the server's own API and a browser.
package page

import (
	"embed"
	"net/http"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/view/page"
)

//go:embed assets
var assets embed.FS

// text is the page, and policy what it may do: run what is written here, and ask this server.
var text, policy = func() (string, string) {
	css, js := "\n"+asset("page.css"), page.Asset("text.js")
	for _, name := range []string{"api.js", "options.js", "canvas.js", "settings.js", "page.js"} {
		js += asset(name)
	}
	js = "\n\"use strict\";\n(() => {\n" + js + "})();\n"
	return strings.NewReplacer("{{css}}", css, "{{js}}", js).Replace(asset("page.html")),
		"default-src 'none'; connect-src 'self'; img-src data:; style-src " + page.Hash(css) + "; script-src " + page.Hash(js) +
			"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// Handler answers every request with the page.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // addresses may hold what was typed
		h.Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(text)) // a client that went away has no use for it
	})
}
