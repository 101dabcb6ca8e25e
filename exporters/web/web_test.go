package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/web"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/view/page/pagetest"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// below is where pages are served.
const below = "/some/where/"

// exports is where the tests' exports lie, and the address that they are served at; each model is exported once.
var exports = struct {
	sync.Mutex
	dir, address string
	done         map[string]bool
}{done: map[string]bool{}}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "web-test-*")
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(http.StripPrefix(below, http.FileServer(http.Dir(dir))))
	exports.dir, exports.address = dir, server.URL+below
	code := m.Run()
	server.Close()
	if err := errors.Join(os.RemoveAll(dir), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// needPackages skips where neither npm nor a folder with its packages is there.
func needPackages(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil && os.Getenv(web.PackagesVariable) == "" {
		t.Skipf("no npm here, which fetches the page's packages; install Node.js, or name a folder in %s", web.PackagesVariable)
	}
}

// exported is the folder of a model's export, not verified.
func exported(t *testing.T, name string) string {
	t.Helper()
	needPackages(t)
	exports.Lock()
	defer exports.Unlock()
	out := filepath.Join(exports.dir, name)
	if !exports.done[name] {
		s, err := exporters.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exporters.Export(t.Context(), web.New(), s, exporters.Options{Verify: exporters.VerifyOff}, out); err != nil {
			t.Fatal(err)
		}
		exports.done[name] = true
	}
	return out
}

// page is the address of a model's export, which a plain file server hands out below a path.
func page(t *testing.T, name string) string {
	t.Helper()
	exported(t, name)
	return exports.address + name + "/"
}

// serve hands another folder out likewise.
func serve(t *testing.T, dir string) string {
	t.Helper()
	s := httptest.NewServer(http.StripPrefix(below, http.FileServer(http.Dir(dir))))
	t.Cleanup(s.Close)
	return s.URL + below
}

// result is what the page says of a finished row.
type result struct {
	Step, Steps, NFE int
	Stopped          bool
	Blanks           int
	Tokens           []int32
	Text             string
}

// sampled opens the page with parameters, lets it run, and returns its row.
func sampled(t *testing.T, b *pagetest.Browser, address string, params url.Values, screen pagetest.Screen) (*pagetest.Page, result) {
	t.Helper()
	params.Set("run", "1")
	p := b.Visit(t, address+"?"+params.Encode(), address, screen)
	p.Await(`window.mdmhost?.result || !document.getElementById("problem").hidden`)
	if said := p.Text("#problem"); said != "" {
		t.Fatal(said)
	}
	return p, pagetest.Get[result](p, "window.mdmhost.result")
}

// again fills fields of an open page, runs it and returns its row, or what the page says is wrong.
func again(p *pagetest.Page, params url.Values) (r result, problem string) {
	pagetest.Get[bool](p, fmt.Sprintf(`(() => {
		const form = document.getElementById("form");
		const params = new URLSearchParams(%q), planner = form.elements.namedItem("planner");
		if (params.has("planner")) planner.value = params.get("planner");
		planner.onchange();
		for (const [name, value] of params) {
			if (name === "prompt" || name === "infill") document.getElementById("as-" + name).click();
			form.elements.namedItem(name).value = value;
		}
		document.getElementById("run").click();
		return true;
	})()`, params.Encode()))
	p.Await(`document.querySelector("#run:enabled") && (window.mdmhost.result || !document.getElementById("problem").hidden)`)
	if problem = p.Text("#problem"); problem == "" {
		r = pagetest.Get[result](p, "window.mdmhost.result")
	}
	return r, problem
}

// native are rows of mdmhost itself, num of them, with settings as on the command line.
func native(t *testing.T, settings ...string) []sampling.Result {
	t.Helper()
	var flags []config.Assignment
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set"})
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	asked := []results.Question{{Kind: results.Prompt, Text: cfg.Prompt, Place: "prompt"}}
	if cfg.Given("infill") {
		asked[0] = results.Question{Kind: results.Infill, Text: cfg.Infill, Place: "infill"}
	}
	rows, _, err := results.Requests(h.Model(), h.Config(), asked)
	if err != nil {
		t.Fatal(err)
	}
	out, next := make([]sampling.Result, len(rows)), 0
	_, err = h.Sample(context.Background(), len(rows), func() (sampling.Request, bool) {
		if next++; next > len(rows) {
			return sampling.Request{}, false
		}
		return rows[next-1], true
	}, func(r sampling.Result) error {
		out[r.Index] = r
		return r.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"

// At temperature 0 a row of the page is that of `mdmhost sample` with the same seed, token by token and pass by pass, whatever the planner. The
// first row of each model is asked for by the page's address, the others by its fields.
func TestRowsAreTheHosts(t *testing.T) {
	b := pagetest.Start(t)
	for model, cases := range map[string][]string{
		"sudoku": {
			"infill=" + puzzle, // by the model's own settings
			"infill=" + puzzle + "&planner=eb&gamma=0.1&max_entropy=inf",
			"infill=" + puzzle + "&planner=confidence",
			"infill=" + puzzle + "&planner=confidence&schedule=cosine&steps=7",
			"infill=" + puzzle + "&planner=eb&gamma=0.5&proxy=margin&max_per_step=6&max_entropy=inf",
			"infill=" + puzzle + "&planner=p2&steps=20&kappa=cosine",
		},
		"molecule": {
			"prompt=CC(=O)&length=20&planner=p2",
			"infill=CC(=O)Nc1ccc([MASK][MASK][MASK])cc1&planner=confidence&k=2",
			"prompt=&length=18&planner=eb&gamma=1",
			"prompt=c1cc&length=16&planner=p2&steps=24&eta=2",
		},
		"text": {
			"prompt=The+old+&length=40&planner=confidence&steps=16&schedule=linear",
			"prompt=The+old+&length=24&planner=p2&steps=30&kappa=sqrt",
		},
		"molecule-insertion": {
			"prompt=&steps=64&seed=7",
			"infill=CC[MASK]O&steps=40&length=12&seed=3&overflow=truncate",
			"prompt=CC&steps=32&events=euler&grid=uniform&seed=11",
		},
		"stars": {"prompt=edefdgebfaea>&seed=5"},
	} {
		t.Run(model, func(t *testing.T) {
			address := page(t, model)
			var p *pagetest.Page
			for _, text := range cases {
				params := query(t, text+"&temperature=0")
				if !params.Has("seed") {
					params.Set("seed", "1")
				}
				var got result
				if p == nil {
					p, got = sampled(t, b, address, params, pagetest.Desktop)
				} else {
					for _, name := range []string{"steps", "length"} { // where the row before had some
						if !params.Has(name) {
							params.Set(name, "")
						}
					}
					var problem string
					if got, problem = again(p, params); problem != "" {
						t.Fatal(problem)
					}
				}
				want := native(t, flags(model, params)...)[0]
				if !slices.Equal(got.Tokens, want.Tokens) {
					t.Errorf("%s: tokens\n%v, expected\n%v", text, got.Tokens, want.Tokens)
				}
				if got.NFE != want.NFE || got.Blanks != 0 {
					t.Errorf("%s: %d passes and %d blanks left, expected %d and none", text, got.NFE, got.Blanks, want.NFE)
				}
			}
		})
	}
}

// flags are the page's parameters as settings of the command line.
func flags(model string, params url.Values) []string {
	out := []string{"model=" + model}
	for key := range params {
		if params.Get(key) == "" && key != "prompt" || key == "run" {
			continue
		}
		of := ""
		switch key {
		case "infill", "prompt", "length", "steps", "seed":
		case "temperature", "top_p", "top_k", "min_p":
			of = "sampling."
		case "planner":
			of = "planner.name"
		default:
			if of = "sampler."; params.Has("planner") {
				of = "planner."
			}
		}
		if of != "planner.name" {
			of += key
		}
		out = append(out, of+"="+params.Get(key))
	}
	return out
}

// At temperatures above 0 a seed gives the host's row, too. Logits differ by some 1e-5 from machine to machine, so that a draw falls otherwise
// with about that probability and one row of some 40 draws with 4e-4: two of the four differ by accident with a probability below 1e-6.
func TestDrawsAreTheHosts(t *testing.T) {
	b := pagetest.Start(t)
	for model, settings := range map[string]string{
		"text":               "prompt=The+old+&length=30&planner=confidence&temperature=0.8&top_p=0.9&min_p=0.01",
		"molecule":           "prompt=&length=20&planner=p2&temperature=1&top_k=20",
		"molecule-insertion": "prompt=&steps=48",
	} {
		t.Run(model, func(t *testing.T) {
			params := query(t, settings+"&seed=12345678901234567890")
			address, other := page(t, model), 0
			p, got := sampled(t, b, address, params, pagetest.Desktop)
			for i, want := range native(t, append(flags(model, params), "num=4")...) {
				if i > 0 {
					var problem string
					if got, problem = again(p, query(t, fmt.Sprintf("%s&row=%d", settings, i))); problem != "" {
						t.Fatal(problem)
					}
				}
				if !slices.Equal(got.Tokens, want.Tokens) {
					t.Logf("row %d: tokens\n%v, expected\n%v", i, got.Tokens, want.Tokens)
					other++
				}
			}
			if other > 1 {
				t.Errorf("%d of 4 rows are other than the host's", other)
			}
		})
	}
}

// The random numbers of the page are the host's, bit by bit.
func TestStreams(t *testing.T) {
	b := pagetest.Start(t)
	address := page(t, "stars")
	p := b.Visit(t, address, address, pagetest.Desktop)
	for _, c := range []struct {
		seed uint64
		row  int64
		step int
	}{{0, 0, 0}, {1<<64 - 1, 1<<40 + 5, 9}, {12345678901234567890, 3, 700}} {
		for _, purpose := range []sampling.Purpose{sampling.PurposeDraw, sampling.PurposeUniform, sampling.PurposeGap} {
			want := make([]float64, 50)
			sampling.Stream{Seed: c.seed}.Uniforms(want, c.row, c.step, 0, purpose)
			pagetest.Get[bool](p, fmt.Sprintf(`window.numbers = null, import("./random.js").then(r => { window.numbers = [...new r.Stream(%dn, %d).uniforms(%d, %d, 50)]; }), true`, c.seed, c.row, purpose, c.step))
			p.Await("window.numbers")
			got := pagetest.Get[[]float64](p, "window.numbers")
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, row %d, step %d, purpose %d: %v, expected %v", c.seed, c.row, c.step, purpose, got, want)
			}
		}
	}
}
