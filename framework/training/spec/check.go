package spec

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// MaxGraphs is how many bytes the two graphs may have together: what a message of the plugin protocol holds, with room for the rest.
const MaxGraphs = 250 << 20

// Check holds a reply against its task: every mistake that the host would otherwise meet in the middle of a run. Its errors are
// [sampling.Error] with the code CONTRACT_VIOLATION.
func Check(task *Task, r *Reply) error {
	if n := len(r.Training) + len(r.Eval); n > MaxGraphs {
		return violation("the graphs have %d MiB; expected at most %d MiB: big tables belong into Params", n>>20, MaxGraphs>>20)
	}
	if err := r.Spec.check(task); err != nil {
		return err
	}
	if err := checkSchedule(task, r); err != nil {
		return err
	}
	if err := checkGraph("training graph", r.Training, task, &r.Spec, trainingOutputs); err != nil {
		return err
	}
	return checkGraph("eval graph", r.Eval, task, &r.Spec, evalOutputs)
}

func (s *Spec) check(t *Task) error {
	networks := map[string]bool{}
	for i := range s.Networks {
		n := &s.Networks[i]
		if n.Name == "" || networks[n.Name] {
			return violation("network %s: the name is empty or taken; expected each network once", quote(n.Name))
		}
		networks[n.Name] = true
		if len(n.Signature.Inputs) == 0 || len(n.Signature.Outputs) == 0 {
			return violation("network %s: its signature has no inputs or no outputs", quote(n.Name))
		}
		if n.Name == Denoiser && !sameSignature(n.Signature, t.Denoiser) {
			return violation("network %s: its signature is not the one that the task gives; expected that one unchanged", quote(n.Name))
		}
	}
	if !networks[Denoiser] {
		return violation("the networks are %q; expected one named %q, which is what gets trained or stays frozen", s.networkNames(), Denoiser)
	}
	for _, n := range s.Networks {
		if n.ShareWith != "" && (!networks[n.ShareWith] || n.ShareWith == n.Name) {
			return violation("network %s shares parameters with %s; expected another network of %q", quote(n.Name), quote(n.ShareWith), s.networkNames())
		}
		if n.Init != "" && n.Init != Fresh && (!networks[n.Init] || n.Init == n.Name) {
			return violation("network %s starts as %s; expected nothing, %q or another network of %q", quote(n.Name), quote(n.Init), Fresh, s.networkNames())
		}
	}
	names := map[string]bool{}
	for i := range s.Inputs {
		in := &s.Inputs[i]
		if err := in.check(t); err != nil {
			return err
		}
		if names[in.Name] {
			return violation("input %s: the name is taken; expected each input once", quote(in.Name))
		}
		names[in.Name] = true
	}
	for i := range s.Params {
		p := &s.Params[i]
		if p.Name == "" || names[p.Name] {
			return violation("parameter %s: the name is empty or taken; expected a name of its own", quote(p.Name))
		}
		names[p.Name] = true
		if err := p.check(); err != nil {
			return err
		}
	}
	for _, g := range s.Groups {
		if _, err := path.Match(g.Match, ""); err != nil || g.Match == "" {
			return violation("group %s: expected a pattern of parameter names, such as %q", quote(g.Match), "denoiser.*")
		}
		if !(g.LR >= 0 && g.Decay >= 0 && finite(g.LR) && finite(g.Decay)) {
			return violation("group %s: lr is %v and decay %v; expected finite factors of at least 0", quote(g.Match), g.LR, g.Decay)
		}
	}
	switch s.Bound {
	case Bound, PathBound, Estimate:
		return nil
	}
	return violation("the bound is of kind %s; expected %s, %s or %s", quote(string(s.Bound)), Bound, PathBound, Estimate)
}

// maxElements bounds a parameter, so that an absurd shape cannot exhaust the host's memory.
const maxElements = 1 << 30

func (p *Param) check() error {
	n := int64(1)
	for _, d := range p.Shape {
		if d < 1 || d > maxElements || n*d > maxElements {
			return violation("parameter %s: its shape is %v; expected sizes of at least 1 and at most %d numbers", quote(p.Name), p.Shape, maxElements)
		}
		n *= d
	}
	if i := p.Init; !slices.Contains([]string{"", "constant", "normal", "uniform"}, i.Kind) || !finite(i.Value) || !finite(i.Scale) || i.Scale < 0 {
		return violation("parameter %s: its init is %+v; expected constant, normal or uniform with a finite value and scale", quote(p.Name), i)
	}
	return nil
}

func (s *Spec) networkNames() []string {
	names := make([]string, len(s.Networks))
	for i, n := range s.Networks {
		names[i] = n.Name
	}
	return names
}

func sameSignature(a, b graph.Signature) bool {
	same := func(p, q graph.Port) bool {
		return p.Name == q.Name && p.Type == q.Type && slices.Equal(p.Shape, q.Shape)
	}
	return slices.EqualFunc(a.Inputs, b.Inputs, same) && slices.EqualFunc(a.Outputs, b.Outputs, same)
}

// checkSchedule lets the kinds of other families through: their numbers are those of mdm.json, which the model's writer checks.
func checkSchedule(task *Task, r *Reply) error {
	s := r.Schedule
	switch s.Kind {
	case Clock:
		if !(s.A > 0 && finite(s.A)) {
			return violation("the schedule is %s with a = %v; expected a number above 0", Clock, s.A)
		}
		return nil
	case PerToken:
		if !slices.ContainsFunc(r.Spec.Params, func(p Param) bool { return p.Name == RawExponents && slices.Equal(p.Shape, []int64{int64(task.V)}) }) {
			return violation("the schedule is %s, and there is no parameter %s; expected one of shape [%d], whose softplus are the exponents", PerToken, quote(RawExponents), task.V)
		}
		return nil
	}
	if _, err := s.New(); err != nil {
		return violation("%v", err)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// violation is a reply that breaks the contract; whoever knows the trainer's name sets the object.
func violation(format string, args ...any) error {
	return &sampling.Error{Code: sampling.ContractViolation, Object: "message", Problem: fmt.Sprintf(format, args...)}
}

func quote(name string) string { return fmt.Sprintf("%q", clip(name)) }

func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}

func shapeText(shape []graph.Dim) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
