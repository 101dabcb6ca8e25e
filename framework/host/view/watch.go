package view

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

const (
	framesPerSecond = 8
	lineEvery       = time.Second / 2
)

// Watch shows the canvas while it fills. In a terminal the canvas is redrawn in place about eight times a second;
// elsewhere plain lines are written, at most two a second and one for each row that ends.
type Watch struct {
	canvas  canvas
	piece   Piece
	out     io.Writer
	program *tea.Program
	ended   chan error
	last    time.Time
}

// NewWatch starts to show a run on out; terminal says whether out can be redrawn. Close must be called.
func NewWatch(out io.Writer, terminal bool, piece Piece) *Watch {
	w := &Watch{piece: piece, out: out}
	if terminal {
		w.open()
	}
	return w
}

func (w *Watch) open(extra ...tea.ProgramOption) {
	// Keys and signals stay with the program that samples.
	options := []tea.ProgramOption{tea.WithOutput(w.out), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithEnvironment(environ())}
	w.program = tea.NewProgram(screen{watch: w}, append(options, extra...)...)
	w.ended = make(chan error, 1)
	go func() {
		_, err := w.program.Run()
		w.ended <- err
	}()
}

// environ is the environment as Bubble Tea is to see it: that of a terminal which it does not ask for its abilities.
// Nobody reads the answers here, so they would end up in the user's shell.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "TERM_PROGRAM" || name == "WT_SESSION"
	})
	for _, asked := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(os.Getenv("TERM"), asked) {
			env = append(env, "TERM=xterm-256color")
		}
	}
	return append(env, "SSH_TTY=unasked")
}

// Admitted implements [sampling.Observer].
func (w *Watch) Admitted(f sampling.Frame) { w.canvas.take(f, 0) }

// Stepped implements [sampling.Observer].
func (w *Watch) Stepped(f sampling.Frame) {
	w.canvas.take(f, f.Step+1)
	if w.program == nil && time.Since(w.last) >= lineEvery {
		w.line(w.canvas.rows[f.Slot])
	}
}

// Finished implements [sampling.Observer].
func (w *Watch) Finished(r sampling.Result) {
	if row := w.canvas.finish(r); row != nil && w.program == nil {
		w.line(row)
	}
}

func (w *Watch) line(r *row) {
	w.last = time.Now()
	_, _ = fmt.Fprintln(w.out, r.draw(w.piece, Look{OneLine: true})) // a screen that went away stops no run
}

// Say prints a line above the canvas. It may be called from any goroutine.
func (w *Watch) Say(line string) {
	if w.program != nil {
		w.program.Println(line)
		return
	}
	_, _ = fmt.Fprintln(w.out, line)
}

// Close leaves the last state on the screen and gives the terminal back.
func (w *Watch) Close() error {
	if w.program == nil {
		return nil
	}
	w.program.Quit()
	return <-w.ended
}

// screen is the Bubble Tea model: it draws the canvas at every tick.
type screen struct {
	watch         *Watch
	width, height int
}

type tick struct{}

func next() tea.Cmd {
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick{} })
}

// Init implements [tea.Model].
func (s screen) Init() tea.Cmd { return next() }

// Update implements [tea.Model].
func (s screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tick:
		return s, next()
	}
	return s, nil
}

// View implements [tea.Model].
func (s screen) View() tea.View {
	// A full last column leaves the cursor where terminals disagree.
	return tea.NewView(s.watch.canvas.draw(s.watch.piece, Look{Width: max(s.width-1, 0), Height: max(s.height-1, 0), Styled: true}) + "\n")
}
