// Package openinference runs denoisers on servers that speak the Open Inference Protocol, version 2 (KServe v2): Triton, MLServer, KServe.
// The served graph is an export with the statistics head (`mdmhost export --to onnx --head statistics`), so that ids go up, a few numbers a
// position come down, and logits stay where they are (DESIGN, section 3).
//
// Open asks the servers what they have and holds it against the model, Configure says what is wanted, then Batch, fill, Run, again and
// again:
//
//	d, err := openinference.Open(ctx, openinference.Model{Name: "mine", MaskID: 4, V: 300}, openinference.Options{Endpoints: []string{"grpc://gpu1:8001"}})
//	defer d.Close()
//	err = d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}, Suppress: []int32{4}})
//	batch, err := d.Batch(2, 16) // fill batch.Tokens and the rest
//	statistics, err := d.Run(ctx)
package openinference

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Model is what is known of the model here; the servers must have the same.
type Model struct {
	Name   string // for messages, and on the servers where Options.Model is empty
	MaskID int32
	PadID  int32
	V      int // width of the logits
	Length int // most positions of a row, or 0 for any

	// Suppress are the ids that an export of the model never draws: the served head has them in its graph.
	Suppress []int32
	// LogitsShift is 1 for models whose logits of position i are for the token at i+1 (see package onnx). The served head has moved them.
	LogitsShift int

	AttentionMask bool // it takes attention_mask
	Timesteps     bool // it takes timesteps
	InsertionRate bool // it gives insertion_rate
	UnmaskRate    bool // it gives unmask_rate
}

// Where statistics are computed.
const (
	HeadAuto   = "auto"   // in the served graph where that has all that a run wants, else here where the servers give logits, with a note
	HeadServed = "served" // in the served graph
	HeadGo     = "go"     // here: logits come over the wire and sampling.Compute does the rest
)

// Options choose the servers and how to talk to them.
type Options struct {
	Endpoints []string      // grpc://, grpcs://, http:// or https://host:port, the last two with a path if need be
	Model     string        // its name on the servers; "" is that of the model here
	Version   string        // its version there; "" is the servers' choice
	Head      string        // HeadAuto, HeadServed or HeadGo; "" is HeadAuto
	Timeout   time.Duration // of one try of a pass; 0 is 30 s
	Retries   int           // further tries of a pass that was not answered
	TLS       TLS

	// Headers go with every request (gRPC: as metadata). A value of the form $NAME is that of the environment variable.
	Headers map[string]string

	// LogitsMemory gives the memory for Statistics.Logits: at least so many bytes, which stay valid until the next call or Close.
	// nil keeps them in the runtime's own memory.
	LogitsMemory func(bytes int) ([]float32, error)
}

// settle sets what was left open, and refuses what there is not.
func (o *Options) settle(m *Model) error {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Model == "" {
		o.Model = m.Name
	}
	switch o.Head {
	case "":
		o.Head = HeadAuto
	case HeadAuto, HeadServed, HeadGo:
	default:
		return fmt.Errorf("runtime openinference: head %q is unknown; use %q, %q or %q", o.Head, HeadAuto, HeadServed, HeadGo)
	}
	return nil
}

// Denoiser is an opened model; it implements [sampling.Denoiser].
type Denoiser struct {
	model   Model
	options Options
	fleet   *fleet
	ports   *ports
	caps    sampling.Capabilities
	notes   []string
	traffic *traffic

	life context.Context // ends with Close
	end  context.CancelFunc

	mu   sync.Mutex // held by Configure, Batch, Run and the end of Close
	head *head      // nil before Configure
	shapes
}

var _ sampling.Denoiser = (*Denoiser)(nil)

// Open asks every endpoint whether it is ready and what its model takes and gives. Endpoints that do not answer are asked again in the
// background, as long as one is ready. The error says what differs from the model, or why no endpoint is ready, and what to do.
func Open(ctx context.Context, m Model, o Options) (_ *Denoiser, err error) {
	if err := o.settle(&m); err != nil {
		return nil, err
	}
	d := &Denoiser{model: m, options: o, traffic: &traffic{}}
	d.life, d.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			_ = d.Close()
		}
	}()
	if d.fleet, err = dial(&d.options, d.traffic); err != nil {
		return nil, err
	}
	check := func(s *signature) (*ports, error) { return findPorts(s, &d.model, d.options.Head) }
	if d.ports, err = d.fleet.open(ctx, d.life, check); err != nil {
		return nil, err
	}
	d.notes = d.fleet.notes()
	d.caps = d.capabilities(o.Head == HeadGo || o.Head == HeadAuto && d.ports.has(logits))
	return d, nil
}

// capabilities are those of statistics that are computed here, or those of the served head.
func (d *Denoiser) capabilities(here bool) sampling.Capabilities {
	p := d.ports
	c := sampling.Capabilities{Serves: sampling.Needs{Proposal: true, InsertionRate: p.has(insertionRate), UnmaskRate: p.has(unmaskRate), FrozenGap: p.has(insertionRate)},
		MaxLength: p.length, FixedLength: p.length, Padding: p.attention, V: d.model.V, Runtime: "openinference", Provider: "remote"}
	s := &c.Serves
	if here {
		s.LogpProposal, s.P1, s.P2, s.Entropy, s.LogpCurrent = sampling.OnModel, true, true, sampling.OnModel, true
		s.KLPrev, s.TopK, s.Logits = true, d.model.V, true
		c.VocabDots, c.State = maxVocabDots, true
		return c
	}
	s.P1, s.P2, s.LogpCurrent = p.has(p1), p.has(p2), p.has(logpCurrent)
	if p.has(logpProposal) {
		s.LogpProposal = sampling.OnModel
	}
	if p.has(entropy) {
		s.Entropy = sampling.OnModel
	}
	return c
}

// maxVocabDots bounds the vectors of one head, as in package onnx.
const maxVocabDots = 16

// Capabilities implements [sampling.Denoiser].
func (d *Denoiser) Capabilities() sampling.Capabilities { return d.caps }

// Notes are what a user should know of the servers: those that were not ready, those that numbers go to as text, and, after Configure, why
// logits cross the network where [HeadAuto] takes them.
func (d *Denoiser) Notes() []string { return slices.Clone(d.notes) }

// Traffic tells what went over the wire since Open. It may be asked from any goroutine.
func (d *Denoiser) Traffic() Traffic { return d.traffic.sum() }

// Close ends a run in progress and all connections, so that batches and statistics handed out before must not be touched any more. It may
// be called more than once and from any goroutine.
func (d *Denoiser) Close() error {
	d.end()
	if d.fleet != nil {
		d.fleet.close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	return nil
}

func (d *Denoiser) errClosed() error { return fmt.Errorf("model %s: it was closed", d.model.Name) }
