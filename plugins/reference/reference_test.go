package reference_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/reference"
)

func TestOnePlugin(t *testing.T) {
	p := reference.Plugin{Kind: "planner", Name: "calm", Version: "0.1.0", Summary: "opens what the model is calm about", Needs: []string{"entropy(on=model)"},
		CanRemask: true, Adaptive: true, Path: "./my planners/calm", Options: json.RawMessage(`{"type":"object","properties":{
			"k":{"type":"integer","default":4,"minimum":1,"maximum":64,"description":"positions | opened\nin a step"},
			"limit":{"type":["number","string"],"default":"inf","minimum":0,"description":"entropy in nats; <inf> never waits"},
			"order":{"type":"string","default":"entropy","enum":["entropy","margin"]},
			"strict":{"type":"boolean","default":false}}}`)}
	var got bytes.Buffer
	if err := p.Write(&got, 2); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`## planner 'calm'

Opens what the model is calm about.

- **Needs** 'entropy(on=model)' at most.
- **May** open blanks, mask or overwrite written tokens.
- **Steps**: a cap; rows finish by themselves.
- **Version** 0.1.0.

| option | values | default | meaning |
|---|---|---|---|
| 'k' | integer from 1 to 64 | '4' | positions \| opened in a step |
| 'limit' | number from 0 | 'inf' | entropy in nats; &lt;inf&gt; never waits |
| 'order' | one of entropy, margin | 'entropy' |  |
| 'strict' | boolean | 'false' |  |

'''sh
mdmhost sample --planner "./my planners/calm"
mdmhost sample --planner "./my planners/calm" --set planner.k=4
'''

`, "'", "`")
	want = strings.ReplaceAll(want, `"`, "'")
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPluginsWithLittleToSay(t *testing.T) {
	for kind, want := range map[string]string{
		"planner": "- **Needs** nothing but tokens and masks.\n- **May** open blanks.\n- **Steps**: as many as the run says.\n- **Version** 1.0.0.\n\nIt has no options.\n\n```sh\nmdmhost sample --planner x\n```\n",
		"trainer": "- **Version** 1.0.0.\n\nIt has no options.\n\n```sh\nmdmhost train --run runs/mine --train rows.txt --trainer x\n```\n",
	} {
		var got bytes.Buffer
		if err := (reference.Plugin{Kind: kind, Name: "x", Version: "1.0.0"}).Write(&got, 3); err != nil {
			t.Fatal(err)
		}
		if want = "### " + kind + " `x`\n\n" + want + "\n"; got.String() != want {
			t.Errorf("%s: found\n%s, want\n%s", kind, &got, want)
		}
	}
}

// The whole reference has every part, and every link into itself leads somewhere.
func TestLinks(t *testing.T) {
	var b bytes.Buffer
	if err := reference.Write(&b, []reference.Plugin{{Kind: "sampler", Name: "steady", Version: "1.0.0"}}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	anchors := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		anchor = strings.ReplaceAll(anchor, " ", "-")
		if anchors[anchor] {
			t.Errorf("two headings are %q", anchor)
		}
		anchors[anchor] = true
	}
	links := regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1)
	for _, l := range links {
		if !anchors[l[1]] {
			t.Errorf("a link leads to #%s, which is not there", l[1])
		}
	}
	if len(links) < 50 || !anchors["sampler-steady"] || !anchors["planrequest"] || !anchors["fill"] {
		t.Errorf("%d links, headings %v", len(links), anchors)
	}
	for _, words := range []string{"`entropy(on=sampling)`", "`remask(positions)`", "masked positions that take the host's proposal", "*One entry per position.*"} {
		if !strings.Contains(text, words) {
			t.Errorf("the reference lacks %q", words)
		}
	}
}

// FuzzWrite: whatever a stranger's plugin says of itself, tables keep their columns and code blocks their ends.
func FuzzWrite(f *testing.F) {
	f.Add("calm", "opens\n```\nrm", `{"properties":{"k":{"type":"integer","description":"a|b\\|c","enum":[1,null,"x|y"],"default":{}}}}`)
	f.Add("```", "# not a heading", `{"properties":{"a\nb":{"type":["string"],"default":"'\n'","minimum":1e300}}}`)
	f.Add("x", "", `[]`)
	f.Fuzz(func(t *testing.T, name, words, schema string) {
		var b bytes.Buffer
		p := reference.Plugin{Kind: "planner", Name: name, Summary: words, Version: words, Needs: []string{words}, Path: words, Options: json.RawMessage(schema)}
		if p.Write(&b, 2) != nil {
			return
		}
		bars := regexp.MustCompile(`(^|[^\\])(\\\\)*\|`)
		for l := range strings.Lines(b.String()) {
			if strings.HasPrefix(l, "| ") && len(bars.FindAllString(strings.ReplaceAll(l, "||", "| |"), -1)) != 5 {
				t.Errorf("a row of the table has not four cells: %q", l)
			}
		}
		if n := len(regexp.MustCompile("(?m)^```").FindAllString(b.String(), -1)); n != 2 {
			t.Errorf("%d lines begin or end a block of code:\n%s", n, &b)
		}
	})
}
