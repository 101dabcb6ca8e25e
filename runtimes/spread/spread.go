// Package spread runs one model on several devices: the rows of a batch are dealt to one denoiser per device, which run side by side.
//
//	d, err := spread.New([]spread.Member{{"device 0", first}, {"device 1", second}}, spread.Options{})
//
// What a row gets depends on the row alone, so tokens are those of one device.
package spread

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Member is the model on one device.
type Member struct {
	Name string // of the device, for errors: "device 1"
	sampling.Denoiser
}

// Options are what the host decides.
type Options struct {
	// LogitsMemory gives the memory for Statistics.Logits of the whole batch, of at least so many bytes, valid until the next call or Close.
	// nil takes Go's. Members keep theirs.
	LogitsMemory func(bytes int) ([]float32, error)
}

// Denoiser deals rows to its members. It implements [sampling.Denoiser], and owns the members.
type Denoiser struct {
	members []*worker
	options Options
	caps    sampling.Capabilities
	closed  atomic.Bool

	memory sync.RWMutex // held for reading where the memory of members is touched outside their own methods, for writing while they close
	mu     sync.Mutex   // held by Configure, Batch, Run and the end of Close
	head   sampling.Head
	passes map[[2]int]*pass
	now    *pass
	logits []float32 // [B, L, V] of the largest batch so far
}

var _ sampling.Denoiser = (*Denoiser)(nil)

// New takes the denoisers of one model, opened and not configured. Members that cannot be mistaken for each other are refused: they must
// agree about the width of the logits and the length that rows must have.
func New(members []Member, o Options) (*Denoiser, error) {
	if len(members) == 0 {
		return nil, errors.New("spread: no devices; give at least one")
	}
	d := &Denoiser{options: o}
	for i, m := range members {
		caps := m.Capabilities()
		if i == 0 {
			d.caps = caps
		} else if caps.V != d.caps.V || caps.FixedLength != d.caps.FixedLength {
			return nil, fmt.Errorf("spread: %s runs a model of %d tokens and rows of %d positions, %s one of %d and %d (0: any); open the same model on all devices",
				m.Name, caps.V, caps.FixedLength, members[0].Name, d.caps.V, d.caps.FixedLength)
		}
		d.caps = meet(d.caps, caps)
	}
	d.widenCaps(len(members))
	for _, m := range members {
		d.members = append(d.members, start(d, m))
	}
	return d, nil
}

// Capabilities implements [sampling.Denoiser]: what all members can do. The largest batch is that of all together.
func (d *Denoiser) Capabilities() sampling.Capabilities { return d.caps }

// Notes are those of the members, each once, and which devices there are.
func (d *Denoiser) Notes() (notes []string) {
	var names []string
	for _, m := range d.members {
		names = append(names, m.Name)
		told, ok := m.Denoiser.(interface{ Notes() []string })
		if !ok {
			continue
		}
		for _, note := range told.Notes() {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	if len(names) > 1 {
		notes = append(notes, "rows are spread over "+strings.Join(names, ", "))
	}
	return notes
}

// Configure implements [sampling.Denoiser]: all members build the same head, side by side.
func (d *Denoiser) Configure(ctx context.Context, head sampling.Head) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		return errClosed
	}
	d.head = head
	err := d.everywhere(func(w *worker) { w.err = w.Configure(ctx, head) }, func(*worker) bool { return true })
	if err != nil {
		return err
	}
	rows := 0
	for i, w := range d.members {
		if most := w.Capabilities().MaxRows; i == 0 || rows == 0 || most > 0 && most < rows {
			rows = most
		}
	}
	d.caps.MaxRows = rows * len(d.members)
	return nil
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		return nil, errClosed
	}
	p, err := d.pass(b, l)
	if err != nil {
		return nil, err
	}
	d.now = p
	return &p.batch, nil
}

// Run implements [sampling.Denoiser]. The error of a member names its device; the others finish their pass first.
func (d *Denoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.now
	switch {
	case d.closed.Load():
		return nil, errClosed
	case p == nil:
		return nil, errors.New("spread: Run before Batch; call Batch and fill what it returns")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.deal(p); err != nil {
		return nil, err
	}
	for _, w := range d.members {
		w.ctx, w.pass = ctx, p
	}
	err := d.everywhere((*worker).run, func(w *worker) bool { return len(w.rows) > 0 })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.closed.Load():
		return nil, errClosed
	case err != nil:
		return nil, err
	}
	d.memory.RLock()
	defer d.memory.RUnlock()
	if d.closed.Load() {
		return nil, errClosed
	}
	return d.join(p)
}

// Close ends a run in progress and closes the members. It may be called more than once and from any goroutine.
func (d *Denoiser) Close() error {
	if !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	var errs []error
	d.memory.Lock()
	for _, w := range d.members {
		if err := w.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.Name, err))
		}
	}
	d.memory.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.members {
		close(w.work)
	}
	d.passes, d.now, d.logits = nil, nil, nil
	return errors.Join(errs...)
}

var errClosed = errors.New("spread: the model was closed")
