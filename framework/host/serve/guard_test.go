package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host/serve"
)

// Only who brings a token of the file may ask; probes and the page need none.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("# two clients\nfirst-token\r\n  second-token  \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.tokens", file)})
	for token, want := range map[string]int{"": 401, "Bearer first-token": 200, "bearer second-token": 200, "Bearer first": 401, "Bearer": 401, "Basic first-token": 401,
		"Bearer # two clients": 401, "first-token": 401} {
		status, header, text := s.ask(t, "/v1/models", "", "Authorization", token)
		if status != want || (want == 401) != (header.Get("WWW-Authenticate") == "Bearer") || (want == 401) != strings.Contains(text, "invalid_api_key") {
			t.Errorf("%q: status %d: %s", token, status, text)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/v1/completions": 401, "/nowhere": 401} {
		if status, _, _ := s.ask(t, path, ""); status != want {
			t.Errorf("%s without a token: status %d", path, status)
		}
	}
	if strings.Contains(s.log.String(), "token") {
		t.Errorf("the log tells tokens: %s", s.log)
	}
}

// Pages of other sites may not call the server, unless their origin is listed; nor may a site that points its own name here.
func TestOriginsAndHosts(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.origins", `["https://good.example"]`)})
	_, port, _ := strings.Cut(s.addr, ":")
	for _, c := range []struct {
		header []string
		status int
		allow  string
	}{
		{nil, 200, ""},
		{[]string{"Origin", "https://good.example", "Sec-Fetch-Site", "cross-site"}, 200, "https://good.example"},
		{[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, ""},
		{[]string{"Origin", "https://evil.example"}, 403, ""},
		{[]string{"Origin", "null"}, 403, ""},
		{[]string{"Origin", "http://localhost:" + port, "Host", "localhost:" + port, "Sec-Fetch-Site", "same-origin"}, 200, ""},
		{[]string{"Host", "localhost:" + port}, 200, ""}, {[]string{"Host", "[::1]"}, 200, ""}, {[]string{"Host", "me.localhost"}, 200, ""},
		{[]string{"Host", "127.0.0.1.evil.example"}, 403, ""}, {[]string{"Host", "evil.example:" + port, "Origin", "http://evil.example:" + port}, 403, ""}, {[]string{"Host", "localhost.evil.example"}, 403, ""},
	} {
		status, header, text := s.ask(t, "/v1/completions", `{}`, c.header...)
		if status != c.status || header.Get("Access-Control-Allow-Origin") != c.allow {
			t.Errorf("%v: status %d, %v: %s", c.header, status, header, text)
		}
	}
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-stainless-os"}
	status, header, _ := s.do(t, http.MethodOptions, "/v1/completions", "", append(preflight, "Origin", "https://good.example")...)
	if status != 204 || header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" || strings.Join(header.Values("Vary"), ", ") != "Origin, Access-Control-Request-Headers" {
		t.Errorf("a good page's question before its question: status %d, %v", status, header)
	}
	if status, header, _ := s.do(t, http.MethodOptions, "/v1/completions", "", append(preflight, "Origin", "https://evil.example")...); status != 405 || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page's: status %d, %v", status, header)
	}
}

// A server that is reached by any address is asked by any name.
func TestHostsOfOthers(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "0.0.0.0:0")})
	s.url = fmt.Sprintf("http://127.0.0.1%s", s.addr[strings.LastIndex(s.addr, ":"):])
	if status, _, text := s.ask(t, "/readyz", "", "Host", "models.example"); status != 200 {
		t.Errorf("status %d: %s", status, text)
	}
}
