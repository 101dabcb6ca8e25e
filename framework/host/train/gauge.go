package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// gauge measures a finished model by a trainer's evaluation graph.
type gauge struct {
	cfg      *config.Config
	host     host.Options
	model    *model.Model
	denoiser *denoiser
	trainer  *trainer
	beside   map[string]artifact.Network // networks of the evaluation besides the denoiser
	device   *onnx.Device
	seed     uint64
	began    time.Time
	notes    []string
}

// openGauge opens the model and asks the trainer, the model's own where nobody names one. Without a seed it is 0, so that the
// same model gets the same number.
func openGauge(ctx context.Context, cfg *config.Config, o host.Options) (*gauge, error) {
	g, err := openModel(cfg, o)
	if err != nil {
		return nil, err
	}
	m := g.model
	if opset := g.denoiser.opset; opset < graph.MinOpset || opset > graph.MaxOpset {
		return nil, fmt.Errorf("model %s: %s has opset %d, expected %d to %d; export it anew, or convert it with onnx.version_converter", m.Name, m.ONNXName, opset, graph.MinOpset, graph.MaxOpset)
	}
	if g.cfg, err = g.ownTrainer(); err != nil {
		return nil, err
	}
	if g.trainer, err = ask(ctx, g.cfg, o, g.denoiser); err != nil {
		return nil, err
	}
	if err := g.holdExponents(); err != nil {
		return nil, err
	}
	if err := g.openOrder(); err != nil {
		return nil, err
	}
	if err := g.checkReply(); err != nil {
		return nil, err
	}
	if g.device, err = openDevice(ctx, g.cfg); err != nil {
		return nil, err
	}
	return g, nil
}

// openModel opens the model alone.
func openModel(cfg *config.Config, o host.Options) (*gauge, error) {
	g := &gauge{cfg: cfg, host: o, began: time.Now()}
	if cfg.Seed != nil {
		g.seed = *cfg.Seed
	}
	var err error
	if g.model, err = model.Open(cfg.Model); err != nil {
		return nil, err
	}
	m := g.model
	if err := measurable(m); err != nil {
		return nil, err
	}
	g.denoiser = &denoiser{Network: newExported(m), v: m.V, opset: m.Graph.Opset(""), mask: m.MaskID, pad: m.Config.Pad, suppress: suppressed(m.Tokenizer, m.V, m.MaskID, m.Config.Pad, m.Insertion())}
	return g, nil
}

// ownTrainer adds the trainer that the model was trained with, and its options, where the user says nothing else.
func (g *gauge) ownTrainer() (*config.Config, error) {
	cfg, own := g.cfg, g.model.Manifest.Trainer
	if own == nil || trainers.All()[own.Name] == nil {
		if own != nil && !cfg.Given("trainer.name") {
			g.notes = append(g.notes, fmt.Sprintf("the model was trained with %s, which is none of this program's; the bound is that of %s (name the binary with --trainer)", own.Name, cfg.Trainer.Name))
		}
		return cfg, nil
	}
	if cfg.Given("trainer.name") && cfg.Trainer.Name != own.Name {
		return cfg, nil
	}
	from := g.model.Name + "/mdm.json"
	more := []config.Assignment{{Key: "trainer.name", Value: own.Name, Flag: from}}
	for _, name := range slices.Sorted(maps.Keys(own.Options)) {
		if key := "trainer." + name; !cfg.Given(key) {
			more = append(more, config.Assignment{Key: key, Value: fmt.Sprint(own.Options[name]), Flag: from})
		}
	}
	return cfg.With(more...)
}

// checkReply refuses evaluations that need more than the denoiser.
func (g *gauge) checkReply() error {
	file, err := graph.Decode(g.trainer.reply.Eval)
	if err != nil {
		return err
	}
	var lacks []string
	for _, n := range file.Graph.Nodes {
		if name := n.TextAttr("name", ""); graph.Key(n) == "mdm.Network" && name != spec.Denoiser && g.beside[name] == nil {
			lacks = append(lacks, "network "+name)
		}
	}
	for _, in := range file.Graph.Feeds() {
		if slices.ContainsFunc(g.trainer.reply.Spec.Params, func(p spec.Param) bool { return p.Name == in.Name }) {
			lacks = append(lacks, "parameter "+in.Name)
		}
	}
	if lacks != nil {
		return fmt.Errorf("trainer %s: its evaluation reads %s, which model directories do not hold; evaluate with another trainer", g.cfg.Trainer.Name, strings.Join(lacks, ", "))
	}
	return nil
}

// evaluator composes the evaluation graph for passes of at most so many rows.
func (g *gauge) evaluator(ctx context.Context, rows, length int) (*training.Evaluator, error) {
	if fixed := g.model.FixedLength(); fixed > 0 && length != fixed {
		return nil, fmt.Errorf("model %s: the export fixed rows to %d positions, found %d; make it fit", g.model.Name, fixed, length)
	}
	rows = cmp.Or(g.model.FixedRows(), rows)
	networks := map[string]artifact.Network{spec.Denoiser: g.denoiser}
	maps.Copy(networks, g.beside)
	set, err := artifact.ComposeEval(artifact.Composition{Task: g.trainer.task, Reply: g.trainer.reply, Networks: networks, EvalRows: rows, Length: length})
	if err != nil {
		return nil, err
	}
	return training.NewEvaluator(ctx, g.device, set, g.model.ONNXDir())
}

// passRows is how many rows share a pass: what the user said, or as many as keep the logits below 128 MiB.
func (g *gauge) passRows(length, most int) int {
	n := g.cfg.Train.Batch
	if !g.cfg.Given("train.batch") {
		n = min(64, max(1, 32<<20/(length*g.model.V)))
	}
	return max(1, min(n, most))
}

// runtime is what really ran, such as "onnx/cpu, 2 threads".
func (g *gauge) runtime() string { return ranOn(g.cfg, g.device.Provider()) }

// kind is what the trainer's evaluation is.
func (g *gauge) kind() string { return string(g.trainer.reply.Spec.Bound) }

func (g *gauge) close() error { return g.device.Close() }

// settingProblems gives problems of the section data their origins.
func settingProblems(cfg *config.Config, err error) error {
	var wrong data.Problems
	if !errors.As(err, &wrong) {
		return err
	}
	var out config.Problems
	for _, p := range wrong {
		out = append(out, config.Problem{Origin: cfg.Origin(p.Key), Key: p.Key, Text: p.Text})
	}
	return out
}
