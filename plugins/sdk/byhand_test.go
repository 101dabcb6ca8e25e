package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const explanation = `planner calm 1.0.0: calm first

It is a plugin of mdmhost, which starts it:
  mdmhost sample --planner ./calm
  mdmhost sample --planner ./calm --set planner.k=3

options
  planner.k  integer, default 3: positions opened

needs
  entropy(on=model), topk(4)

arguments
  describe  prints all this as JSON
  --debug   serves until Ctrl-C, for a debugger, and prints the line by which mdmhost finds it
  --help    prints this
`

func TestByHand(t *testing.T) {
	d, err := define[struct {
		K int `option:"k" default:"3" help:"positions opened"`
	}]("planner", "calm", []Option{Needs(Entropy, TopK(4)), Version("1.0.0"), Adaptive(), Summary("calm first")})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := byHand(d.Description, nil, []string{"./calm"}, &stdout, &stderr); code != 1 || stdout.Len() > 0 {
		t.Errorf("status %d, %q", code, stdout.String())
	}
	if diff := cmp.Diff(explanation, stderr.String()); diff != "" {
		t.Error(diff)
	}
	if code := byHand(d.Description, nil, []string{"./calm", "--help"}, &stdout, &bytes.Buffer{}); code != 0 || stdout.String() != explanation {
		t.Errorf("status %d, %q", code, stdout.String())
	}
	if code := byHand(d.Description, nil, []string{"mdmhost", "__plugin", "planner", "calm"}, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "--planner calm\n") {
		t.Errorf("status %d, %q", code, stderr.String())
	}
	if code := byHand(d.Description, nil, []string{"./calm", "--port", "3"}, &stdout, &stderr); code != 2 || !strings.HasSuffix(stderr.String(), "planner calm: unknown arguments [\"--port\" \"3\"]; expected describe, --debug or --help\n") {
		t.Errorf("status %d, %q", code, stderr.String())
	}
	stdout.Reset()
	if code := byHand(d.Description, nil, []string{"./calm", "describe"}, &stdout, &stderr); code != 0 {
		t.Errorf("status %d", code)
	}
	var got struct {
		Name     string
		Protocol int
		Needs    []string
		Adaptive bool
		Options  struct {
			Properties map[string]struct{ Default int }
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "calm" || got.Protocol != 1 || !got.Adaptive || strings.Join(got.Needs, " ") != "entropy(on=model) topk(4)" || got.Options.Properties["k"].Default != 3 {
		t.Errorf("description %+v", got)
	}
	stderr.Reset()
	if code := byHand(d.Description, errors.New("tag default: wrong"), []string{"./calm"}, &stdout, &stderr); code != 1 || stderr.String() != "tag default: wrong\n" {
		t.Errorf("status %d, %q", code, stderr.String())
	}
}
