package model_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// judge is a planner network with the head binary that takes the mask pattern.
func judge() *fixture {
	f := newFixture().with("mdm.json", `{"family": "planner", "planner": {"head": "binary", "mask_pattern": true}}`).input(value("masked", graph.Int64, batch, length))
	f.graph.Graph.Outputs = []*graph.ValueInfo{value("keep", graph.Float32, batch, length)}
	return f
}

// unaware is such a network without the input that its mdm.json promises.
func unaware() *fixture {
	f := judge()
	f.graph.Graph.Inputs = f.graph.Graph.Inputs[:1]
	return f
}

func TestPlannerNetworks(t *testing.T) {
	m, err := model.Open(judge().write(t), model.AsPlanner())
	if err != nil {
		t.Fatal(err)
	}
	if *m.Manifest.Planner != (model.Planner{Head: model.HeadBinary, MaskPattern: true}) || !m.Masked || !m.Keep || m.V != 7 || m.Logits != graph.Undefined {
		t.Errorf("planner %+v, signature %+v, V %d", m.Manifest.Planner, m.Signature, m.V)
	}
	dir := newFixture().write(t) // any masked language model is one, and stays a denoiser without the option
	if m, err = model.Open(dir, model.AsPlanner()); err != nil || *m.Manifest.Planner != (model.Planner{Head: model.HeadVocabulary}) {
		t.Errorf("planner %+v, error %v", m.Manifest.Planner, err)
	}
	if m, err = model.Open(dir); err != nil || m.Manifest.Planner != nil {
		t.Errorf("a denoiser has the planner %+v, error %v", m.Manifest.Planner, err)
	}
	if m, err = model.Open(judge().write(t), model.AnyFamily()); err != nil || !m.Keep {
		t.Errorf("error %v", err)
	}
}

func TestRefusedPlannerNetworks(t *testing.T) {
	vocabulary := `{"family": "planner", "planner": {"head": "vocabulary"}}`
	_, err := model.Open(judge().write(t))
	mustFail(t, err, "mdm.json", `family is "planner"`, "give it as planner.network")
	_, err = model.Open(newFixture().with("mdm.json", vocabulary).write(t))
	mustFail(t, err, `family is "planner"`)

	flat := judge()
	flat.graph.Graph.Outputs[0].Shape = flat.graph.Graph.Outputs[0].Shape[:1]
	for name, c := range map[string]struct {
		*fixture
		says []string
	}{
		"no keep":         {newFixture().with("mdm.json", `{"family": "planner", "planner": {"head": "binary"}}`), []string{`no output "keep"`, "logits"}},
		"no logits":       {judge().with("mdm.json", `{"family": "planner", "planner": {"head": "vocabulary", "mask_pattern": true}}`), []string{"mask_pattern", `expected the head "binary"`}},
		"unused pattern":  {judge().with("mdm.json", `{"family": "planner", "planner": {"head": "binary"}}`), []string{`input "masked"`, "mask_pattern"}},
		"missing pattern": {unaware(), []string{`no input "masked"`}},
		"flat keep":       {flat, []string{`"keep" is float32 [batch]`, "expected float32 [B, L]"}},
		"no head":         {judge().with("mdm.json", `{"family": "planner", "planner": {}}`), []string{"planner: missing property 'head'"}},
		"no planner":      {judge().with("mdm.json", `{"family": "planner"}`), []string{"missing property 'planner'"}},
		"other family":    {newFixture().with("mdm.json", `{"planner": {"head": "binary"}}`), []string{"mdm.json: planner", `family is "masked"`}},
		"other head":      {judge().with("mdm.json", `{"family": "planner", "planner": {"head": "scalar"}}`), []string{"planner.head: value must be one of 'vocabulary', 'binary'"}},
		"insertion":       {newFixture().with("mdm.json", `{"family": "insertion"}`), []string{`family is "insertion"`, "planner network"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.Open(c.write(t), model.AsPlanner())
			mustFail(t, err, c.says...)
			t.Log(err)
		})
	}
}
