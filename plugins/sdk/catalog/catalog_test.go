package catalog_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/catalog"
)

// fields returns the names of a message's fields, sorted, but for some.
func fields(m protoreflect.ProtoMessage, but ...string) (names []string) {
	fs := m.ProtoReflect().Descriptor().Fields()
	for i := range fs.Len() {
		if name := string(fs.Get(i).Name()); !slices.Contains(but, name) {
			names = append(names, name)
		}
	}
	return sorted(names)
}

// sorted returns every name once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-protocol or kit +catalog):\n%s", what, diff)
	}
}

// TestNothingOfTheProtocolIsMissing: every field of needs, steps and decisions is listed.
func TestNothingOfTheProtocolIsMissing(t *testing.T) {
	var needs, columns, verbs []string
	for _, s := range catalog.Statistics() {
		needs = append(needs, s.Needs...)
		for _, c := range s.Columns {
			columns = append(columns, c.Name)
		}
	}
	for _, c := range catalog.Facts() {
		columns = append(columns, c.Name)
	}
	for _, v := range catalog.Verbs() {
		verbs = append(verbs, v.Fields...)
	}
	same(t, "needs", fields(&pb.Needs{}), sorted(needs))
	// c, the number of vectors, says how vocab_dot is laid out; v stands in Logits.
	same(t, "columns", sorted(append(fields(&pb.Step{}, "run", "c"), "v")), sorted(columns))
	same(t, "verbs", fields(&pb.Decision{}), sorted(verbs))
}

// TestColumnsAreThoseOfRows: names and types of the fields in Go.
func TestColumnsAreThoseOfRows(t *testing.T) {
	row := reflect.TypeFor[sampling.Row]()
	columns := catalog.Facts()
	for _, s := range catalog.Statistics() {
		columns = append(columns, s.Columns...)
	}
	var listed []string
	for _, c := range columns {
		if c.Name == "n" {
			continue // the length of the others
		}
		listed = append(listed, c.Field)
		f, ok := row.FieldByName(c.Field)
		if !ok {
			t.Errorf("%s: a row has no field %s", c.Name, c.Field)
			continue
		}
		isList, of := f.Type.Kind() == reflect.Slice, f.Type
		if isList {
			of = of.Elem()
		}
		kind := of.Kind().String()
		if kind == "int" {
			kind = "int32" // on the wire
		}
		if isList != (c.Shape != "") || c.Type != kind {
			t.Errorf("%s: %s %s, the field is %s", c.Name, c.Type, c.Shape, f.Type)
		}
	}
	var want []string
	for i := range row.NumField() {
		want = append(want, row.Field(i).Name)
	}
	same(t, "fields of a row", sorted(want), sorted(listed))
}

// functions are the statistics of the kit.
var functions = map[string]sdk.Statistic{
	"Proposal": sdk.Proposal, "LogpProposal": sdk.LogpProposal, "LogpProposalTempered": sdk.LogpProposalTempered, "LogpProposalSampling": sdk.LogpProposalSampling,
	"LogpProposalNoised": sdk.LogpProposalNoised, "P1": sdk.P1, "P2": sdk.P2, "PeaksTempered": sdk.PeaksTempered, "PeaksSampling": sdk.PeaksSampling,
	"Entropy": sdk.Entropy, "EntropySampling": sdk.EntropySampling, "LogpCurrent": sdk.LogpCurrent, "KLPrev": sdk.KLPrev, "PlannerScore": sdk.PlannerScore,
	"Uniform": sdk.Uniform, "Gumbel": sdk.Gumbel, "TopK": sdk.TopK(3), "VocabDot": sdk.VocabDot([]float32{1}, []float32{2}), "InsertionRate": sdk.InsertionRate,
	"UnmaskRate": sdk.UnmaskRate, "FrozenGap": sdk.FrozenGap, "LogpLeaveOneOut": sdk.LogpLeaveOneOut, "Logits": sdk.Logits,
}

// TestFormsAreWhatNeedsSay: asking by the function that is listed gives the need that is listed.
func TestFormsAreWhatNeedsSay(t *testing.T) {
	counts := strings.NewReplacer("topk(K)", "topk(3)", "vocab_dot(C)", "vocab_dot(2)")
	var listed []string
	for _, s := range catalog.Statistics() {
		for _, f := range s.Forms {
			var needs sampling.Needs
			for _, name := range strings.Split(f.Go, ", ") {
				listed = append(listed, name)
				functions[name](&needs)
			}
			if got := needs.String(); got != counts.Replace(f.Need) {
				t.Errorf("%s: the need is %q, the catalog says %q", f.Go, got, f.Need)
			}
		}
		if s.Help == "" || len(s.Forms) == 0 || len(s.Columns) == 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
	same(t, "functions", declared(t, "../needs.go", ""), sorted(listed))
}

// TestVerbsAreThoseOfTheKits: every method of a decision that returns one, with its signature, in Go and in Python.
func TestVerbsAreThoseOfTheKits(t *testing.T) {
	var inGo, inPython []string
	for _, v := range catalog.Verbs() {
		for _, signature := range strings.SplitAfter(v.Go, "), ") {
			inGo = append(inGo, strings.TrimSuffix(signature, ", "))
		}
		inPython = append(inPython, v.Python)
		if v.Help == "" || !strings.HasPrefix(v.Python, v.Name+"(") {
			t.Errorf("%s: %+v", v.Name, v)
		}
	}
	same(t, "verbs in Go", declared(t, "../decision.go", "Decision"), sorted(inGo))
	source, err := os.ReadFile("../../python/mdmhost_plugin/decisions.py")
	if err != nil {
		t.Fatal(err)
	}
	var python []string
	for _, m := range regexp.MustCompile(`(?m)^    def ([a-z]\w*)\(self(.*)\) -> "Decision":`).FindAllSubmatch(source, -1) {
		arguments := regexp.MustCompile(`: [A-Za-z]+(\[[^\]]*\])?`).ReplaceAllString(strings.TrimPrefix(string(m[2]), ", "), "")
		if name := string(m[1]); name != "metrics" { // many at once
			python = append(python, name+"("+arguments+")")
		}
	}
	same(t, "verbs in Python", sorted(python), sorted(inPython))
}

// declared returns the exported functions of a file, or the signatures of the exported methods of a type that return that type.
func declared(t *testing.T, path, receiver string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || (f.Recv == nil) != (receiver == "") {
			continue
		}
		name := f.Name.Name
		if receiver != "" {
			var text strings.Builder
			if err := format.Node(&text, token.NewFileSet(), f.Type); err != nil {
				t.Fatal(err)
			}
			arguments, returns := strings.CutSuffix(text.String(), " "+receiver)
			if name += strings.TrimPrefix(arguments, "func"); !returns {
				continue
			}
		}
		names = append(names, name)
	}
	return sorted(names)
}
