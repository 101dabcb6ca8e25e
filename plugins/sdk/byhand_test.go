package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestByHand(t *testing.T) {
	d, err := define[struct {
		K int `option:"k" default:"3"`
	}]("planner", "calm", []Option{Needs(Entropy, TopK(4)), Version("1.0.0"), Adaptive()})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := byHand(d.Description, nil, nil, &stdout, &stderr); code != 1 || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "planner calm is a plugin of mdmhost, which starts it: mdmhost sample --planner PATH") {
		t.Errorf("status %d, %q", code, stderr.String())
	}
	if code := byHand(d.Description, nil, []string{"describe"}, &stdout, &stderr); code != 0 {
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
	if code := byHand(d.Description, errors.New("tag default: wrong"), nil, &stdout, &stderr); code != 1 || stderr.String() != "tag default: wrong\n" {
		t.Errorf("status %d, %q", code, stderr.String())
	}
}
