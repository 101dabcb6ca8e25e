package family

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

const (
	embedding = "embeddings.tokens"
	head      = "head.weight"
)

// Assemble finds the parameters of the network, those of [network.Params] in that order, in the tensors of a checkpoint. They are views
// of (parts of) those tensors: nothing is copied, precisions stay. A head that the checkpoint holds although it is tied to the embedding
// must equal it; else r.Config.Tied becomes false. Notes of what was left out are added to r.Notes. The error lists every tensor that is unknown, missing, misshapen or
// of a type without a rule.
func (r *Recipe) Assemble(tensors []safetensors.Tensor) ([]safetensors.Tensor, error) {
	a := &assembly{recipe: r, have: map[string]safetensors.Tensor{}, source: map[string]string{}, own: map[string]bool{}, left: map[string]bool{}}
	if len(tensors) == 0 {
		return nil, errors.New("the checkpoint holds no tensors; expected the weights of the model")
	}
	a.untie(tensors)
	a.params = map[string][]int64{}
	for _, p := range network.Params(r.Config) {
		a.params[p.Name] = p.Shape
	}
	for _, t := range tensors {
		a.put(t)
	}
	out := a.collect()
	if a.problems != nil {
		return nil, a.err()
	}
	for _, what := range slices.Sorted(maps.Keys(a.left)) {
		r.Notes = append(r.Notes, "left out: "+what)
	}
	return out, nil
}

// assembly is a list of parameters on its way.
type assembly struct {
	recipe   *Recipe
	params   map[string][]int64 // shapes
	have     map[string]safetensors.Tensor
	source   map[string]string // tensor of the checkpoint by parameter, of those too that could not be taken
	own      map[string]bool   // parameters that were found in a line which is a head's own
	left     map[string]bool
	problems []string
}

func (a *assembly) fail(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// untie finds out whether a head that is stored is the embedding.
func (a *assembly) untie(tensors []safetensors.Tensor) {
	r := a.recipe
	if !r.Config.Tied {
		return
	}
	var table, own *safetensors.Tensor
	for i, t := range tensors {
		_, to, _ := r.match(t.Name)
		switch {
		case slices.Contains(to, embedding):
			table = &tensors[i]
		case slices.Contains(to, head):
			own = &tensors[i]
		}
	}
	if table == nil || own == nil {
		return
	}
	if table.DType == own.DType && slices.Equal(table.Shape, own.Shape) && bytes.Equal(table.Data, own.Data) {
		a.left["the head's own copy of the embedding, which it equals"] = true
		return
	}
	r.Config.Tied = false
	r.Config = r.Config.Filled()
	r.Notes = append(r.Notes, fmt.Sprintf("%s differs from %s although config.json ties them: the head has weights of its own now", own.Name, table.Name))
}

func (r *Recipe) lines() []line {
	if r.Ours() {
		return nil
	}
	return r.family.tensors(r.draft)
}

// put finds the parameters in one tensor.
func (a *assembly) put(t safetensors.Tensor) {
	l, to, ok := a.recipe.match(t.Name)
	switch {
	case a.recipe.Ours() && network.IsExtra(to[0]):
		if err := precision(t); err != nil {
			a.fail("%v", err)
		}
		t.Name = to[0]
		a.recipe.Extra = append(a.recipe.Extra, t)
		return
	case !ok:
		a.fail("tensor %q is unknown to model_type %s%s", t.Name, a.recipe.ModelType, a.near(t.Name))
		return
	case to == nil:
		a.left[l.left] = true
		return
	case a.recipe.Config.Tied && slices.Equal(to, []string{head}):
		return
	}
	for _, name := range to {
		if a.source[name] == "" {
			a.source[name] = t.Name
		}
	}
	if err := precision(t); err != nil {
		a.fail("%v", err)
		return
	}
	rows, want := l.skip, []int64(nil)
	for _, name := range to {
		shape, known := a.params[name]
		if !known {
			a.fail("tensor %q has no place: the network of config.json has no %s; take both of one model", t.Name, name)
			return
		}
		rows, want = rows+shape[0], slices.Clone(shape)
	}
	want[0] = rows
	if !slices.Equal(t.Shape, want) {
		a.fail("tensor %q has shape %v, and by config.json it is %v; take both of one model", t.Name, t.Shape, want)
		return
	}
	if l.left != "" {
		a.left[l.left] = true
	}
	size := int64(len(t.Data)) / rows
	at := l.skip * size
	for _, name := range to {
		shape := a.params[name]
		end := at + shape[0]*size
		a.add(safetensors.Tensor{Name: name, DType: t.DType, Shape: shape, Data: t.Data[at:end:end]}, t.Name, l.own)
		at = end
	}
}

// add takes a parameter. Some are stored twice, and must be equal then, unless one of them is known to be what a head that is not tied has.
func (a *assembly) add(t safetensors.Tensor, from string, own bool) {
	before, twice := a.have[t.Name]
	switch {
	case !twice || before.DType == t.DType && bytes.Equal(before.Data, t.Data):
	case !a.recipe.Config.Tied && own:
		a.left[a.source[t.Name]+", in whose place "+from+" counts: the head is not tied"] = true
	case !a.recipe.Config.Tied && a.own[t.Name]:
		a.left[from+", in whose place "+a.source[t.Name]+" counts: the head is not tied"] = true
		return
	default:
		a.fail("tensors %q and %q are both %s, and differ; remove the one that the model was not trained with", a.source[t.Name], from, t.Name)
	}
	a.have[t.Name], a.own[t.Name] = t, a.own[t.Name] || own
}

// precision refuses types of elements that networks are not computed with.
func precision(t safetensors.Tensor) error {
	switch t.DType {
	case safetensors.F32, safetensors.F16, safetensors.BF16:
		return nil
	case safetensors.F64:
		return fmt.Errorf("tensor %q has elements F64; expected F32, F16 or BF16: save the model in float32", t.Name)
	}
	return fmt.Errorf("tensor %q has elements %s: quantized weights have no rule; expected F32, F16 or BF16, so take the model that they were made of", t.Name, t.DType)
}

// collect puts the parameters into order, and lists those that are missing.
func (a *assembly) collect() (out []safetensors.Tensor) {
	r := a.recipe
	var missing []string
	heads := 0
	for _, p := range network.Params(r.Config) {
		t, ok := a.have[p.Name]
		if !ok && a.source[p.Name] != "" {
			continue // which was told
		}
		if !ok {
			if missing = append(missing, p.Name); strings.HasPrefix(p.Name, "head") {
				heads++
			}
			continue
		}
		out = append(out, t)
	}
	if heads > 0 && heads == len(missing) {
		a.fail("there is no head for masked tokens (%s.*): the checkpoint is of a model for another task; take the masked language model that it was made of", r.family.head)
	} else if len(missing) > 0 {
		for _, name := range missing {
			a.fail("parameter %s is missing: expected a tensor %q", name, a.expected(name))
		}
	}
	return out
}

// expected is the name that a family has for a parameter.
func (a *assembly) expected(parameter string) string {
	for _, l := range a.recipe.lines() {
		for _, to := range strings.Split(l.to, " + ") {
			if p := pattern(to, l.whole()).FindStringSubmatch(parameter); to != "" && p != nil {
				return strings.Replace(l.from, "*", p[1], 1) + p[2]
			}
		}
	}
	return parameter
}

// near names the tensor of the family that an unknown one may be meant for.
func (a *assembly) near(name string) string {
	layer := regexpNumber.FindString(name)
	var known []string
	for _, l := range a.recipe.lines() {
		from := strings.Replace(l.from, "*", strings.Trim(layer, "."), 1)
		for _, suffix := range []string{"", ".weight", ".bias"} {
			known = append(known, from+suffix)
		}
	}
	return meant(a.recipe.family.plain(name), known)
}

// err lists the problems, the first ones of many.
func (a *assembly) err() error {
	const most = 12
	lines := a.problems
	if len(lines) > most {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(a.problems)-most))
	}
	return errors.New(strings.Join(lines, "\n"))
}
