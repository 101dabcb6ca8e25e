// Servers are tested as they are shipped, and once: in the build with the Rust tokenizers.

//go:build tokenizers

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
)

// startServer runs the command until the end of the test, which must be a good one, and returns the server's address.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("mdmhost", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, address := &strings.Builder{}, make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(said, lines.Text())
			if found := regexp.MustCompile(`listening on (http://\S+),`).FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait says what became of it
		<-read
		err := cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 143 {
			t.Errorf("the server ended with %v: %s", err, said)
		}
	})
	select {
	case a := <-address:
		return a
	case <-read:
		t.Fatalf("the server said: %s", said)
	case <-time.After(5 * time.Minute): // only ends a server that hangs
		t.Fatal("the server does not say where it listens")
	}
	return ""
}

// metric is the sum of a metric of the server over its labels.
func metric(t *testing.T, server, name string) (sum float64) {
	t.Helper()
	resp, err := http.Get(server + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(?:\{[^}]*\})? (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

// TestPageOfServer uses the page of a real server in a real browser as a person does.
func TestPageOfServer(t *testing.T) {
	b := pagetest.Start(t)
	server := startServer(t, "--models", "text:sudoku:stars")
	for _, c := range []struct {
		name string
		test func(*testing.T, *pagetest.Browser, string)
	}{
		{"prompt", promptOnPage}, {"blanks", blanksOnPage}, {"grows", growingOnPage}, {"planner", plannerOnPage}, {"mistakes", mistakesOnPage}, {"stop", stopOnPage}, {"looks", looksOfPage},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b, server) })
	}
}

// open shows the page with an address's settings.
func openServed(t *testing.T, b *pagetest.Browser, server, hash string, s pagetest.Screen) *pagetest.Page {
	t.Helper()
	p := b.Visit(t, server+"/"+hash, server+"/", s)
	p.Await(`document.getElementById("planner").options.length > 10`)
	return p
}

// typed puts a text into a field as its user does: by the keyboard.
func typed(p *pagetest.Page, id, text string) {
	pagetest.Get[bool](p, fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.focus(); e.select(); return true; })()`, id))
	p.Press(kb.Backspace)
	for _, key := range text {
		p.Press(string(key))
	}
}

// chosen picks an option of a list.
func chosen(p *pagetest.Page, id, value string) {
	pagetest.Get[bool](p, fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change")); return e.value === %q; })()`, id, value, value))
}

// seen keeps every look that a position has on the canvas.
func seen(p *pagetest.Page) {
	pagetest.Get[bool](p, `(() => {
		window.seen = new Set();
		new MutationObserver(() => { for (const e of document.querySelectorAll(".cells .t")) window.seen.add(e.className); }).observe(document.getElementById("rows"), {subtree: true, childList: true, attributes: true});
		return true;
	})()`)
}

const ended = `document.getElementById("status").textContent.match(/^(Done|Failed|Stopped)/) !== null`

// A text is continued while the page shows it; the link that it gives brings the same text again.
func promptOnPage(t *testing.T, b *pagetest.Browser, server string) {
	p := openServed(t, b, server, "", pagetest.Desktop)
	seen(p)
	typed(p, "text", "the ")
	typed(p, "length", "120")
	typed(p, "n", "2")
	p.Click("#run")
	p.Await(ended)
	status := p.Text("#status")
	found := regexp.MustCompile(`^Done: 240 NFE, 1 tokens per NFE, 2 rows, seed (\d+)\.$`).FindStringSubmatch(status)
	if found == nil {
		t.Fatalf("the page says %q: %s", status, p.Text("#error"))
	}
	if n := p.Count(".row"); n != 2 {
		t.Errorf("%d rows", n)
	}
	for _, look := range []string{"t fixed", "t committed", "t committed now", "t provisional"} {
		if !pagetest.Get[bool](p, fmt.Sprintf("window.seen.has(%q)", look)) {
			t.Errorf("no position ever looked like %q", look)
		}
	}
	if got := p.Text(".row-facts"); !strings.HasPrefix(got, "120 NFE · 1 tokens per NFE · ") {
		t.Errorf("the first row says %q", got)
	}
	text := p.Text(".final")
	if len(text) < 20 {
		t.Errorf("the text is %q", text)
	}
	p.Click("#link")
	p.Await(`document.getElementById("status").textContent.startsWith("The link")`)
	hash := pagetest.Get[string](p, "location.hash")
	if !strings.Contains(hash, "seed="+found[1]) || !strings.Contains(hash, "text=the+") {
		t.Errorf("the link ends in %s", hash)
	}
	again := openServed(t, b, server, hash, pagetest.Desktop)
	again.Press(kb.Tab) // anywhere: the keys are the page's
	pagetest.Get[bool](again, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true, cancelable: true})) || true`)
	again.Await(ended)
	if got := again.Text(".final"); got != text {
		t.Errorf("the link gives %q, the page had %q", got, text)
	}
}

// A puzzle of the model's own examples is filled on its grid.
func blanksOnPage(t *testing.T, b *pagetest.Browser, server string) {
	p := openServed(t, b, server, "", pagetest.Desktop)
	chosen(p, "model", "sudoku")
	chosen(p, "examples", "0")
	if !pagetest.Get[bool](p, `document.getElementById("mode-infill").checked`) {
		t.Error("an example with blanks is taken for a prompt")
	}
	typed(p, "seed", "18446744073709551615") // the largest, which JavaScript has no number for
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: ") || !strings.HasSuffix(status, ", 1 row, seed 18446744073709551615.") {
		t.Errorf("the page says %q: %s", status, p.Text("#error"))
	}
	given := strings.ReplaceAll(p.Text("#text")+pagetest.Get[string](p, `document.getElementById("text").value`), ".", "")
	if fixed, all := p.Count(".cells .fixed"), p.Count(".cells.grid .t"); fixed != len(given) || all != 81 {
		t.Errorf("%d of %d positions are given, expected %d of 81", fixed, all, len(given))
	}
	if columns := pagetest.Get[int](p, `new Set([...document.querySelectorAll(".cells .t")].map(e => Math.round(e.getBoundingClientRect().left))).size`); columns != 9 {
		t.Errorf("%d columns", columns)
	}
	if got := p.Text(".final"); !regexp.MustCompile(`^[1-9]{81}$`).MatchString(strings.Join(strings.Fields(got), "")) {
		t.Errorf("the answer is %q", got)
	}
	p.Shoot("serve-puzzle")
}

// Rows of an insertion model grow on the canvas.
func growingOnPage(t *testing.T, b *pagetest.Browser, server string) {
	p := openServed(t, b, server, "#model=stars&seed=4", pagetest.Desktop)
	chosen(p, "examples", "0")
	if pagetest.Get[bool](p, `document.getElementById("mode-infill").checked`) {
		t.Error("a prompt is taken for a text with blanks")
	}
	prompt := pagetest.Get[string](p, `document.getElementById("text").value`)
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: ") {
		t.Errorf("the page says %q: %s", status, p.Text("#error"))
	}
	if fixed, all := p.Count(".cells .fixed"), p.Count(".cells .t"); fixed < len(prompt) || all <= fixed {
		t.Errorf("%d positions, of which %d are given; the prompt has %d", all, fixed, len(prompt))
	}
}

// Another planner, with options from a form that its own schema makes, is the one that runs.
func plannerOnPage(t *testing.T, b *pagetest.Browser, server string) {
	p := openServed(t, b, server, "#length=20&n=1", pagetest.Desktop)
	chosen(p, "planner", "eb")
	if got := pagetest.Get[string](p, `document.getElementById("option-gamma").placeholder`); got != "0.1" {
		t.Errorf("the default of gamma reads %q", got)
	}
	if got := p.Text("#planner-note"); !strings.Contains(got, "entropy bound") {
		t.Errorf("the planner's note is %q", got)
	}
	typed(p, "option-gamma", "inf")
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: 1 NFE, 20 tokens per NFE, ") {
		t.Errorf("with no bound the page says %q: %s", status, p.Text("#error"))
	}
	if hash := pagetest.Get[string](p, "location.hash"); !strings.Contains(hash, "planner=eb") || !strings.Contains(hash, "planner.gamma=inf") {
		t.Errorf("the address is %s", hash)
	}
	seen(p)
	chosen(p, "planner", "p2")
	typed(p, "option-eta", "2")
	typed(p, "length", "120") // so many steps that frames of the screen fall between them
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: ") {
		t.Errorf("with p2 the page says %q: %s", status, p.Text("#error"))
	}
	if !pagetest.Get[bool](p, `[...window.seen].some(c => c.includes("remasked"))`) {
		t.Error("no position was seen masked again")
	}
}

// Errors are the server's words; the form stays as it is. What an address holds is text.
func mistakesOnPage(t *testing.T, b *pagetest.Browser, server string) {
	hostile := "#model=nothing&n=1&text=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&temperature=-1&planner=eb&planner.gamma=much"
	p := openServed(t, b, server, hostile, pagetest.Desktop)
	if n := p.Count("img"); n != 0 {
		t.Errorf("%d elements came out of the address", n)
	}
	if got := p.Text("#status"); got != "This server does not have model nothing." {
		t.Errorf("the page says %q", got)
	}
	p.Click("#run")
	p.Await(ended)
	p.Forgive("400")
	resp, err := http.Post(server+"/v1/completions", "application/json", strings.NewReader(
		`{"model":"text","prompt":"<img src=x onerror=alert(1)>","n":1,"temperature":-1,"planner":{"name":"eb","options":{"gamma":"much"}},"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := pagetest.Get[string](p, fmt.Sprintf(`JSON.parse(%q).error.message`, text))
	if diff := cmp.Diff(got, p.Text("#error")); diff != "" || resp.StatusCode != 400 {
		t.Errorf("status %d: %s", resp.StatusCode, diff)
	}
	if !strings.HasPrefix(got, "temperature: ") {
		t.Errorf("the error is %q", got)
	}
	typed(p, "temperature", "1")
	typed(p, "text", "the ")
	typed(p, "option-gamma", "0.5")
	typed(p, "length", "8")
	p.Click("#run")
	p.Await(ended)
	if !pagetest.Get[bool](p, `document.getElementById("error").hidden`) || !strings.HasPrefix(p.Text("#status"), "Done: ") {
		t.Errorf("after the mistakes are mended the page says %q, %q", p.Text("#status"), p.Text("#error"))
	}
}

// Escape ends the run: the server's rows end, too.
func stopOnPage(t *testing.T, b *pagetest.Browser, server string) {
	p := openServed(t, b, server, "#n=64&length=60", pagetest.Desktop)
	p.Click("#run")
	p.Await(`document.querySelectorAll(".cells .committed").length > 0`)
	p.Press(kb.Escape)
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Stopped, seed ") {
		t.Errorf("the page says %q", status)
	}
	if n := p.Count(".badge.bad"); n == 0 {
		t.Error("no row is shown as stopped")
	}
	for deadline := time.Now().Add(5 * time.Minute); metric(t, server, "mdmhost_rows_running") > 0 || metric(t, server, "mdmhost_queue_rows") > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("rows of a client that left go on")
		}
	}
	if pagetest.Get[bool](p, `!document.getElementById("stop").disabled`) {
		t.Error("there is still something to stop")
	}
	typed(p, "n", "1")
	typed(p, "length", "8")
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: 8 NFE") {
		t.Errorf("the next run says %q", status)
	}
}

// A server with tokens asks for one, says which is wrong, and works with one that is right.
func TestPageOfServerWithTokens(t *testing.T) {
	b := pagetest.Start(t)
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("open-sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startServer(t, "--model", "stars", "--set", "serve.tokens="+file)
	p := b.Visit(t, server+"/#length=8", server+"/", pagetest.Desktop)
	asked := `!document.getElementById("login").hidden && document.activeElement.id === "token"`
	p.Await(asked)
	if got := p.Text("#error"); !strings.Contains(got, "token") {
		t.Errorf("the page says %q", got)
	}
	for _, token := range []string{"wrong", "open-sesame"} {
		pagetest.Get[bool](p, `(document.getElementById("error").textContent = "") === ""`)
		typed(p, "token", token)
		p.Press(kb.Enter)
		p.Await(fmt.Sprintf(`%t ? document.getElementById("planner").options.length > 10 : document.getElementById("error").textContent !== ""`, token != "wrong"))
	}
	p.Forgive("401")
	if !pagetest.Get[bool](p, `document.getElementById("login").hidden && document.getElementById("error").hidden`) {
		t.Error("the page still asks for a token")
	}
	p.Click("#run")
	p.Await(ended)
	if status := p.Text("#status"); !strings.HasPrefix(status, "Done: ") {
		t.Errorf("the page says %q: %s", status, p.Text("#error"))
	}
}

// Everything has a name, is legible in light and dark, and fits a phone.
func looksOfPage(t *testing.T, b *pagetest.Browser, server string) {
	dark := pagetest.Desktop
	dark.Dark = true
	for name, s := range map[string]pagetest.Screen{"light": pagetest.Desktop, "dark": dark, "phone": pagetest.Phone} {
		p := openServed(t, b, server, "#n=2&length=120&seed=3&text=one+day+&planner=p2&steps=120", s)
		p.Click("#run")
		p.Await(`document.querySelectorAll(".cells .committed").length > 100 && document.querySelectorAll(".cells .provisional").length > 20`)
		p.Shoot("serve-" + name)
		p.Await(ended)
		for _, selector := range []string{".legend .t", ".cells .t", ".badge", ".tool", "input", "select", "textarea"} {
			if c := p.Contrast(selector); c < 4.5 {
				t.Errorf("%s: %s: contrast %.2f", name, selector, c)
			}
		}
		if unnamed := pagetest.Get[int](p, `[...document.querySelectorAll("input, select, textarea")].filter(e => e.labels.length === 0 && !e.ariaLabel).length`); unnamed != 0 {
			t.Errorf("%d fields have no name", unnamed)
		}
		if over := pagetest.Get[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: the page is %d points wider than the screen", name, over)
		}
	}
}
