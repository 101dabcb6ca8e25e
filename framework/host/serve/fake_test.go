package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// TestMain lets the test binary be the plugin that hosts start, as the mdmhost binary is.
func TestMain(m *testing.M) {
	host.ServePlugin(os.Args)
	goleak.VerifyTestMain(m)
}

// fake answers every question with what answer says.
type fake struct {
	model  *model.Model
	answer func(ctx context.Context, q engine.Question, a *fakeAnswer) error // sends events, in a goroutine; its error fails the question

	mu       sync.Mutex
	asked    []engine.Question
	refuse   error // of Ask
	reload   error // of Reload
	reloaded []*config.Config
	drained  bool
	left     sync.WaitGroup
	open     int // answers that are not closed
}

func newFake(t *testing.T, answer func(context.Context, engine.Question, *fakeAnswer) error) *fake {
	t.Helper()
	m, err := model.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{model: m, answer: answer}
	t.Cleanup(f.left.Wait)
	return f
}

func (f *fake) Models() []engine.ModelInfo {
	return []engine.ModelInfo{{Name: "sudoku", Planner: "eb gamma=0.1", Sampler: "masked", Provider: "onnx/cpu, 1 thread", V: 11, MaxLength: 81, MaskText: "[MASK]", Blank: ".", Digest: "d1", Opened: time.Unix(7, 0)}}
}

func (f *fake) Ask(ctx context.Context, q engine.Question) (serve.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	if q.Model != "" && q.Model != "sudoku" {
		return nil, &engine.UnknownModelError{Model: q.Model, Names: []string{"sudoku"}}
	}
	f.asked = append(f.asked, q)
	ctx, cancel := context.WithCancel(ctx)
	a := &fakeAnswer{fake: f, rows: len(q.Ask) * q.Num, events: make(chan engine.Event), cancel: cancel}
	f.open++
	f.left.Go(func() {
		defer close(a.events)
		_ = f.answer(ctx, q, a)
	})
	return a, nil
}

func (f *fake) Reload(_ context.Context, cfg *config.Config) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reload == nil {
		f.reloaded = append(f.reloaded, cfg)
	}
	return f.reload
}

func (f *fake) Drain(ctx context.Context) error {
	f.mu.Lock()
	f.drained, f.refuse = true, engine.ErrDraining
	f.mu.Unlock()
	done := make(chan struct{})
	go func() { f.left.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Stats() engine.Stats {
	return engine.Stats{Queued: 3, Refused: 2, Kinds: []engine.KindStats{{Model: "sudoku", Planner: "eb", Sampler: "masked", Batch: 8, Lanes: 1, Finished: 5, Failed: 1, Passes: 10, RowPasses: 40}}}
}

func (f *fake) opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// fakeAnswer hands on what is sent to it.
type fakeAnswer struct {
	fake   *fake
	rows   int
	events chan engine.Event
	cancel func()
	once   sync.Once
}

func (a *fakeAnswer) Rows() int           { return a.rows }
func (a *fakeAnswer) Seed() uint64        { return 7 }
func (a *fakeAnswer) Notes() []string     { return []string{"a note"} }
func (a *fakeAnswer) Model() *model.Model { return a.fake.model }
func (a *fakeAnswer) Prompt(int) ([]int32, []bool) {
	return []int32{5, 5, 0, 0}, []bool{true, true, false, false}
}

func (a *fakeAnswer) Next(ctx context.Context) (engine.Event, error) {
	select {
	case e, ok := <-a.events:
		if !ok {
			return e, io.EOF
		}
		return e, nil
	case <-ctx.Done():
		return engine.Event{}, ctx.Err()
	}
}

func (a *fakeAnswer) Close() {
	a.once.Do(func() {
		a.cancel()
		a.fake.mu.Lock()
		a.fake.open--
		a.fake.mu.Unlock()
	})
}

// send hands an event on, unless the client has left.
func (a *fakeAnswer) send(ctx context.Context, e engine.Event) error {
	select {
	case a.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// row is the end of a row of four positions.
func row(i int, how sampling.Finish, text string) engine.Event {
	r := &results.Row{Index: int64(i), Text: text, Tokens: []int32{5, 5, 6, 7}, Length: 4, NFE: 2, Steps: 2, Finish: how, MS: 1.5, StepMap: []int32{-1, -1, 0, 1}}
	if how == sampling.FinishError {
		r.Error = "row 0: the logits are not numbers"
	}
	return engine.Event{Row: i, Done: r, Err: errors.New(r.Error)}
}

// complete ends every row well.
func complete(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
	for i := range a.rows {
		if err := a.send(ctx, row(i, sampling.FinishComplete, "6678")); err != nil {
			return err
		}
	}
	return nil
}

// settings are given as on a command line, in pairs.
func settings(t testing.TB, pairs ...string) serve.Settings {
	t.Helper()
	var given []config.Assignment
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, config.Assignment{Key: pairs[i], Value: pairs[i+1], Flag: "--set " + pairs[i]})
	}
	cfg, err := config.Load(config.Sources{Flags: given})
	if err != nil {
		t.Fatal(err)
	}
	return serve.Settings{Config: cfg, Plugins: []serve.Plugin{{Object: "planner", Name: "eb", Options: json.RawMessage(`{"type":"object"}`)}, {Object: "sampler", Name: "masked"}}}
}

// running is a server on a real socket.
type running struct {
	*serve.Server
	url  string
	addr string
	stop func() error // ends it, and returns what Serve did
	log  *lines
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start serves until the test ends.
func start(t testing.TB, o serve.Options) *running {
	t.Helper()
	r := &running{log: &lines{}}
	if o.Logger == nil {
		o.Logger = logger(r.log)
	}
	server, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := serve.Listen(o.Settings.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	var once sync.Once
	var failed error
	r.Server, r.addr, r.url = server, l.Addr().String(), serve.Address(l.Addr())
	r.stop = func() error {
		once.Do(func() {
			cancel()
			failed = <-ended
			http.DefaultClient.CloseIdleConnections()
		})
		return failed
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// ask sends a body, as curl --json does, and returns the answer.
func (r *running) ask(t testing.TB, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	return r.do(t, method, path, body, header...)
}

func (r *running) do(t testing.TB, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// dial opens a connection and sends text.
func (r *running) dial(t testing.TB, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// eventually waits for something that must come; the bound only ends a test that hangs.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
