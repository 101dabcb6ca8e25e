// Package host turns a configuration into running parts: it opens the model, starts the planner and the sampler in
// their own processes, builds the runtime's statistics head for what they need, and drives runs.
package host

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/scorer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Options are what a program, not a user, decides about a host.
type Options struct {
	// Logger takes what plugins log; nil drops it.
	Logger hclog.Logger
	// InProcess runs first-party plugins as Go values: for benchmarks that measure what the process boundary costs.
	InProcess bool
	// Deadlines bound how long plugins may take; zero values are the supervisor's defaults.
	Deadlines supervise.Deadlines
	// Plugins are the settings of plugin processes: environment, certificates, limits, and which of them run already.
	Plugins config.Plugins
	// Model is cfg.Model, opened already: hosts may share it. nil opens it.
	Model *model.Model
	// Truncates lets rows bring a truncation (top-k, top-p, min-p) of their own where the settings have none.
	Truncates bool
	// Watch stands between the host and its runtime: for tools that look at what passes. nil: nothing does.
	Watch func(backend.Denoiser) backend.Denoiser
	// Vet sees what the planner and the sampler say of themselves before they are given their options; its error ends the start. nil: nobody does.
	Vet func(planner, sampler sampling.Description) error
}

// Host is a model with its runtime, planner and sampler, ready to sample. It is used by one goroutine at a time.
type Host struct {
	cfg      *config.Config
	model    *model.Model
	watch    func(backend.Denoiser) backend.Denoiser
	memory   *shm.Memory // where logits cross to plugins
	denoiser sampling.Denoiser
	network  *scorer.Network // the planner's own, or nil
	planner  part[sampling.Planner]
	sampler  part[sampling.Sampler]
	planned  sampling.Run        // as the planner was told
	recorder *recorder           // of what the planner is asked, or nil
	options  map[string]any      // of the planner, as it took them
	frame    sampling.LoopConfig // what the settings put around the steps
	edits    sampling.Edits      // what they change of the logits
	observed sampling.Needs      // what the statistics head computes
	seed     uint64
	notes    []string
	noted    func() []string // what the runtime says, once it is configured, too

	truncates bool // rows may
}

// Open opens everything that cfg names and returns a host that must be closed. Plugins and runtime start side by side;
// the statistics head is built when the plugins have said what they need.
func Open(ctx context.Context, cfg *config.Config, o Options) (_ *Host, err error) {
	h := &Host{cfg: cfg, model: o.Model, truncates: o.Truncates, watch: o.Watch}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.model == nil {
		if h.model, err = model.Open(cfg.Model); err != nil {
			return nil, err
		}
	}
	if h.cfg, err = WithModel(cfg, h.model); err != nil {
		return nil, err
	}
	if err := h.drawSeed(); err != nil {
		return nil, err
	}
	if h.memory, err = shm.New(); err != nil {
		return nil, err
	}
	group, starting := errgroup.WithContext(ctx) // one that fails ends the start of the others
	group.Go(func() error { return h.openPlanner(starting, o) })
	group.Go(func() error { return h.openSampler(starting, o) })
	group.Go(func() error { return h.openRuntime(starting) })
	group.Go(func() error { return h.openNetwork(starting) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if o.Vet != nil {
		if err := o.Vet(h.planner.desc, h.sampler.desc); err != nil {
			return nil, err
		}
	}
	h.noteUnused(o)
	if err := h.start(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// start gives the plugins their run and the runtime its statistics head.
func (h *Host) start(ctx context.Context) error {
	planning, err := h.cfg.PlannerOptions(h.planner.desc.OptionsSchema)
	driving, also := h.cfg.SamplerOptions(h.sampler.desc.OptionsSchema)
	if err := errors.Join(err, also); err != nil {
		return err
	}
	if err := errors.Join(h.checkSampler(), h.fit()); err != nil {
		return err
	}
	run := sampling.Run{ID: strconv.FormatUint(h.seed, 36), Capabilities: h.denoiser.Capabilities(), MaskID: h.model.MaskID,
		V: h.writable(), Temperature: h.cfg.Sampling.Temperature, KeepsWritten: !h.remasks(), Insertion: h.frame.Growth}
	if run.Exponents, err = h.model.Exponents(); err != nil {
		return err
	}
	run.Capabilities.Serves.PlannerScore = h.network != nil
	run.Capabilities.Serves.LogpLeaveOneOut = h.leavesOut()
	h.serveGrowth(&run.Capabilities)
	h.options = planning
	if run.Options, err = json.Marshal(planning); err != nil {
		return err
	}
	if !h.decides() {
		h.planned = run
		if h.planner.needs, err = h.planner.plugin.Start(ctx, run); err != nil {
			return err
		}
		if err := refuse("planner "+h.planner.name, h.planner.needs, &run.Capabilities); err != nil {
			return err
		}
	}
	if run.Options, err = json.Marshal(driving); err != nil {
		return err
	}
	if h.sampler.needs, err = h.sampler.plugin.Start(ctx, run); err != nil {
		return err
	}
	if err := refuse("sampler "+h.sampler.name, h.sampler.needs, &run.Capabilities); err != nil {
		return err
	}
	if err := h.settle(h.planner.needs, h.sampler.needs); err != nil {
		return err
	}
	head, err := h.head()
	if err != nil {
		return err
	}
	if err := h.openAlone(ctx, head.Needs); err != nil {
		return err
	}
	return h.denoiser.Configure(ctx, head)
}

// refuse ends the start when a plugin's options need what the runtime cannot serve.
func refuse(who string, needs sampling.Needs, caps *sampling.Capabilities) error {
	missing := caps.Missing(needs)
	if len(missing) == 0 {
		return nil
	}
	if needs.PlannerScore && !caps.Serves.PlannerScore {
		return &sampling.Error{Code: sampling.InvalidConfig, Object: who,
			Problem: "needs planner_score, the scores of a network of its own, and none is named",
			Hint:    "name one with --set planner.network=DIR (an embedded model's name will do)"}
	}
	if needs.LogpLeaveOneOut && !caps.Serves.LogpLeaveOneOut {
		return &sampling.Error{Code: sampling.InvalidConfig, Object: who,
			Problem: "needs logp_leave_one_out, what the model thinks of a token whose position it does not see, which this model cannot give",
			Hint:    "take a model of type mdm-transformer, or export this one for rows of any length with the inputs attention_bias float32 [B, 1, L, L], added to the attention scores, and position_ids int64 [B, L]"}
	}
	hint := "choose other options of it, another plugin or another runtime"
	if caps.Runtime == config.KindOpenInference && !caps.State {
		hint += ", or have it computed here with runtime.head=auto, from logits that the server must give"
	}
	return &sampling.Error{Code: sampling.InvalidConfig, Object: who,
		Problem: fmt.Sprintf("needs %s, which runtime %s/%s cannot serve", strings.Join(missing, ", "), caps.Runtime, caps.Provider), Hint: hint}
}

// head is the union of what the parts need, with the model's suppressed tokens.
func (h *Host) head() (sampling.Head, error) {
	needs, err := h.planner.needs.Union(h.sampler.needs)
	if err != nil {
		return sampling.Head{}, fmt.Errorf("planner %s with sampler %s: %w", h.planner.name, h.sampler.name, err)
	}
	needs.PlannerScore, needs.FrozenGap = false, false // the other network's, and the loop's
	needs.UnmaskRate = needs.UnmaskRate && h.denoiser.Capabilities().Serves.UnmaskRate
	h.observe(&needs)
	s := h.cfg.Sampling
	head := sampling.Head{Needs: needs, Suppress: backend.Suppressed(h.cfg.Sampling, h.model), Present: h.remasks(),
		Filter: s.Temperature > 0 && (h.truncates || s.TopK > 0 || s.TopP < 1 || s.MinP > 0), Guidance: float32(s.CFGScale),
		Below: s.TopPRule == "below", Tempered: s.Temperature != 0 && s.Temperature != 1, Edits: h.edits}
	if s.Draw == "gumbel" {
		head.Draw = sampling.DrawGumbel
	}
	if needs.LogpProposal == sampling.OnNoised && head.Draw != sampling.DrawGumbel && s.Temperature > 0 {
		return sampling.Head{}, config.Problems{{Origin: h.cfg.Origin("sampling.draw"), Key: "sampling.draw",
			Text: fmt.Sprintf("planner %s needs logp_proposal(on=noised), the noise that drew the token, and the draw is %s; set gumbel", h.planner.name, s.Draw)}}
	}
	return head, nil
}

// writable is the bound below which token ids may be written.
func (h *Host) writable() int { return min(h.model.V, h.model.Tokenizer.Size()) }

func (h *Host) drawSeed() error {
	if h.cfg.Runtime.Kind == config.KindReplay {
		return h.takeRecorded()
	}
	if h.cfg.Seed != nil {
		h.seed = *h.cfg.Seed
		return nil
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	// 53 bits survive every JSON reader.
	h.seed = binary.LittleEndian.Uint64(b[:]) >> 11
	return nil
}

// A CPU is busy with so many rows of a forward pass, and so is a GPU.
const rowsOnCPU, rowsOnGPU = 8, 64

// Batch returns how many rows share a forward pass: what the user said, else as many as there are, up to what keeps the processor busy.
func (h *Host) Batch(rows int) int {
	if h.cfg.Batch > 0 {
		return h.cfg.Batch
	}
	most := rowsOnCPU
	if h.denoiser.Capabilities().Provider != "cpu" {
		most = rowsOnGPU
	}
	return max(1, min(rows, most))
}

// Sample draws the rows that next yields and hands the finished ones to sink, in the order in which they finish. When
// ctx ends or a part fails, rows on their way are handed over too, as cancelled or failed.
func (h *Host) Sample(ctx context.Context, rows int, next func() (sampling.Request, bool), sink func(sampling.Result) error, observers ...sampling.Observer) (sampling.Accounts, error) {
	c := h.loop(h.Batch(rows))
	c.Next, c.Sink, c.Observers = next, sink, observers
	loop, err := sampling.NewLoop(c)
	if err != nil {
		return sampling.Accounts{}, err
	}
	if err = h.sampler.plugin.Sample(ctx, loop); err == nil {
		err = loop.Done()
	}
	if err != nil {
		cause := err
		if ctx.Err() != nil {
			cause, err = ctx.Err(), ctx.Err()
		}
		err = errors.Join(err, loop.Abort(cause))
	}
	return loop.Accounts(), err
}

// loop is the configuration of a run of the host's parts, without where its rows come from and go to.
func (h *Host) loop(batch int) sampling.LoopConfig {
	c := h.frame
	c.Denoiser, c.Scorer, c.Seed, c.Draw, c.Rows = h.denoiser, h.scorer(), h.seed, h.draw(), batch
	c.PlannerName, c.CanRemask, c.PlannerNeeds = h.planner.name, h.remasks(), h.planner.needs
	switch {
	case h.decides():
	case h.recorder != nil:
		c.Planner = h.recorder
	default:
		c.Planner = h.planner.plugin
	}
	c.SamplerName, c.SamplerNeeds = h.sampler.name, h.sampler.needs
	c.MaskID, c.PadID, c.V, c.Suppress = h.model.MaskID, h.model.PadID, h.writable(), backend.Suppressed(h.cfg.Sampling, h.model)
	return c
}

func (h *Host) draw() sampling.Draw {
	if h.cfg.Sampling.Draw == "gumbel" {
		return sampling.DrawGumbel
	}
	return sampling.DrawInverseCDF
}

// Config returns the configuration with the model's own settings in it.
func (h *Host) Config() *config.Config { return h.cfg }

// Model returns the opened model.
func (h *Host) Model() *model.Model { return h.model }

// PlannerOptions returns the options that the planner was given, in the types of its schema; never nil.
func (h *Host) PlannerOptions() map[string]any { return h.options }

// Seed returns the run's seed, drawn if nobody gave one.
func (h *Host) Seed() uint64 { return h.seed }

// Provider returns the runtime and the provider that really runs, such as "onnx/cpu, 2 threads".
func (h *Host) Provider() string {
	c := h.denoiser.Capabilities()
	switch h.cfg.Runtime.Kind {
	case config.KindOpenInference, config.KindReplay: // threads here have no part in it
		return c.Runtime + "/" + c.Provider
	}
	n := backend.Threads(h.cfg.Runtime.Threads)
	if n == 1 {
		return fmt.Sprintf("%s/%s, 1 thread", c.Runtime, c.Provider)
	}
	return fmt.Sprintf("%s/%s, %d threads", c.Runtime, c.Provider, n)
}

// Notes returns what the user should know of the start, such as why `auto` runs on the CPU.
func (h *Host) Notes() []string {
	var notes []string
	if h.noted != nil {
		notes = h.noted()
	}
	notes = slices.Concat(notes, h.notes, h.planner.notes, h.sampler.notes)
	if h.network == nil {
		return notes
	}
	return append(notes, h.network.Notes()...)
}

// Close ends the plugins and frees the runtime. It may be called twice.
func (h *Host) Close() error {
	var errs []error
	if h.denoiser != nil {
		errs = append(errs, h.denoiser.Close())
	}
	if h.network != nil {
		errs = append(errs, h.network.Close())
	}
	for _, p := range []*supervise.Process{h.planner.process, h.sampler.process} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	if h.memory != nil { // last: the plugins and the runtime have mapped it
		errs = append(errs, h.memory.Close())
	}
	h.denoiser, h.network, h.planner.process, h.sampler.process, h.memory = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
