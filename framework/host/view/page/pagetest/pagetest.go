// Package pagetest opens pages in a real browser, for tests: headless Chromium, driven over its DevTools protocol.
package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png" // screenshots are
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Variable names the browser. `./dev test` sets it; without it a browser on the path is taken.
const Variable = "PAGE_BROWSER"

// patience ends a browser that hangs; no test depends on it.
const patience = 5 * time.Minute

// Screen is what a page is shown on.
type Screen struct {
	Width, Height int64
	Phone         bool // touch, two pixels a point
	Dark          bool
}

// The screens that tests use.
var (
	Desktop = Screen{Width: 1280, Height: 860}
	Phone   = Screen{Width: 390, Height: 844, Phone: true}
)

// Page is an open page. Its methods end the test when they fail.
type Page struct {
	t    testing.TB
	ctx  context.Context
	of   string // what the addresses of its files begin with
	mu   sync.Mutex
	said []string // what the console and the network complained of
}

// browser finds Chromium. Where the project's scripts did not name one and none is installed the test is skipped with the
// command that installs it; one that was named must work.
func browser(t testing.TB) string {
	t.Helper()
	if named, set := os.LookupEnv(Variable); set {
		if _, err := exec.LookPath(named); err != nil {
			t.Fatalf("%s=%q names no program; run scripts/setup-chromium.sh, which prints one", Variable, named)
		}
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no Chromium here, so the page is not looked at; `scripts/setup-chromium.sh` installs it, `./dev test` does so and then insists on it")
	return ""
}

// Browser is a running browser, for the pages of a test and its subtests.
type Browser struct{ ctx context.Context }

// Start starts the browser, which ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(browser(t)), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	ctx, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
		stopAllocator()
		stop()
	})
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // starts it
		t.Fatalf("starting the browser: %v", err)
	}
	return &Browser{ctx}
}

// Open shows a file on a screen, in a tab of its own. What the page complains of until the end of the test fails it.
func (b *Browser) Open(t testing.TB, file string, s Screen) *Page {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return b.Visit(t, "file://"+path, "file:", s)
}

// Visit is [Browser.Open] of an address, for pages that a server hands out and that may ask for other files below a folder: of is what
// their addresses begin with.
func (b *Browser) Visit(t testing.TB, address, of string, s Screen) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	p := &Page{t: t, ctx: ctx, of: of}
	t.Cleanup(func() {
		closeTab()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.said {
			t.Errorf("the page complains: %s", problem)
		}
	})
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	call(p, runtime.Enable, cdp.Empty{})
	call(p, log.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	p.screen(s)
	p.run(chromedp.Navigate(address))
	return p
}

// Forgive takes back the complaints so far that hold a text: those that a test provokes.
func (p *Page) Forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = slices.DeleteFunc(p.said, func(said string) bool { return strings.Contains(said, text) })
}

// listen keeps what a page must not do: complain on the console, throw, or ask for anything but itself.
func (p *Page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		said := "console." + string(e.Type)
		for _, a := range e.Args {
			said += " " + string(a.Value) + a.Description
		}
		p.said = append(p.said, said)
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, "throws "+e.ExceptionDetails.Text)
		if e.ExceptionDetails.Exception != nil {
			p.said = append(p.said, e.ExceptionDetails.Exception.Description)
		}
	case *log.EventEntryAdded:
		p.said = append(p.said, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, p.of) && !strings.HasPrefix(url, "data:") {
			p.said = append(p.said, "asks for "+url)
		}
	}
}

func (p *Page) run(action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	get(p, action)
}

// get runs an action that returns something.
func get[T any](p *Page, action chromedp.Action[T]) T {
	p.t.Helper()
	out, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// call sends a command of the protocol.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Page) screen(s Screen) {
	p.t.Helper()
	scale, scheme := 1.0, "light"
	if s.Phone {
		scale = 2
	}
	if s.Dark {
		scheme = "dark"
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.Width, Height: s.Height, DeviceScaleFactor: scale, Mobile: s.Phone})
	call(p, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: s.Phone})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// Get evaluates an expression within the page.
func Get[T any](p *Page, expression string) T {
	p.t.Helper()
	out, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// Text is what an element that a selector finds holds.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Get[string](p, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// Count is how many elements a selector finds.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	return Get[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// Press presses keys, one after the other, wherever the focus is; those of [github.com/chromedp/chromedp/kb] have names there.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.run(chromedp.KeyEvent(key))
	}
}

// Click clicks the middle of the element that a selector finds.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

// Await waits until an expression is true. The deadline only ends a page that hangs.
func (p *Page) Await(expression string) {
	p.t.Helper()
	p.run(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(patience)))
}

// Shoot takes a picture of what the screen shows, as PNG. It is kept as NAME.png in the folder that PAGE_PICTURES names, if
// it names one. A picture of one colour fails the test.
func (p *Page) Shoot(name string) {
	p.t.Helper()
	shot := get(p, chromedp.CaptureScreenshot())
	picture, _, err := image.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 3 {
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 10 {
		p.t.Errorf("%s: a picture of %d colours; the page is empty", name, len(colours))
	}
	if dir := os.Getenv("PAGE_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Contrast is the smallest contrast of text with its ground, from 1 to 21 as WCAG 2 defines it, over the elements that a selector
// finds and that have a ground of their own.
func (p *Page) Contrast(selector string) float64 {
	p.t.Helper()
	return Get[float64](p, fmt.Sprintf(`(() => {
		const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
		const light = colour => {
			context.clearRect(0, 0, 1, 1);
			context.fillStyle = colour;
			context.fillRect(0, 0, 1, 1);
			const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		let least = 21;
		for (const e of document.querySelectorAll(%q)) {
			const style = getComputedStyle(e);
			const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
			least = Math.min(least, (a + 0.05) / (b + 0.05));
		}
		return least;
	})()`, selector))
}
