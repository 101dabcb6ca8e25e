// Package page writes a trace as one HTML file that needs nothing else: no network, no fonts, no program but a browser.
//
// The trace's lines stand in the page as they are, behind everything that shows them. So a page is written while the run
// goes on, and one whose run was killed still shows what there was.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"strings"
)

//go:embed assets
var assets embed.FS

// Limit is the size of a trace, in bytes, beyond which a page takes no further rows: browsers stay quick up to there.
const Limit = 32 << 20

const (
	opening = `<script type="application/jsonl" id="trace">` + "\n"
	closing = "</script>\n</body>\n</html>\n"
)

// head is the page up to the trace. The content security policy lets run what is written here and nothing else, so that not
// even a mistake in it could run a token's text.
var head = func() string {
	css, js := Asset("page.css"), ""
	for _, name := range []string{"trace.js", "text.js", "canvas.js", "curves.js", "rows.js", "page.js"} {
		js += Asset(name)
	}
	css, js = "\n"+css, "\n\"use strict\";\n(() => {\n"+js+"})();\n"
	return strings.NewReplacer("{{css hash}}", Hash(css), "{{js hash}}", Hash(js), "{{css}}", css, "{{js}}", js).Replace(Asset("page.html")) + opening
}()

// Asset is one of the texts that the page is made of, such as text.js, for other pages that show tokens.
func Asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// Hash is how a content security policy names a text.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Start writes the page up to the trace. The lines of the trace follow, without "<" as [sampling.Trace] writes them.
//
// [sampling.Trace]: https://pkg.go.dev/github.com/mdmhost/mdmhost/framework/sampling#Trace
func Start(w io.Writer) error {
	_, err := io.WriteString(w, head)
	return err
}

// End writes what follows the trace.
func End(w io.Writer) error {
	_, err := io.WriteString(w, closing)
	return err
}

// Trace returns the lines of the trace within a page, how many lines of the page stand before them, and whether text is a page
// at all. A page that was cut off has no end; its lines go as far as it does.
func Trace(text []byte) (lines []byte, before int, is bool) {
	start, lines, is := bytes.Cut(text, []byte(opening))
	lines, _, _ = bytes.Cut(lines, []byte("</script>"))
	return lines, bytes.Count(start, []byte("\n")) + 1, is
}
