package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages returns the files of docs/plugins by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"docs/plugins/*.md", "docs/export/*.md", "docs/import.md", "docs/pull.md", "docs/serve.md", "docs/scale.md", "docs/runtimes/openinference.md", "docs/runtimes/onnx.md", "docs/runtimes/cuda.md", "docs/runtimes/openvino.md", "docs/runtimes/replay.md"} {
		names, err := filepath.Glob(filepath.Join(repository(t), pattern))
		if err != nil || names == nil {
			t.Fatalf("%s: no page (%v)", pattern, err)
		}
		found = append(found, names...)
	}
	out := map[string]string{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(text)
	}
	return out
}

// Links lead to files that are there and to headings that they have.
func TestLinksOfPages(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```.*?^```$")
	for path, text := range pages(t) {
		for _, l := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link %s: %v", filepath.Base(path), l[1], err)
				continue
			}
			if anchor != "" && !headings(t, target)[anchor] {
				t.Errorf("%s: link %s: there is no such heading", filepath.Base(path), l[1])
			}
		}
	}
}

// headings returns the anchors of a page's headings, as GitHub names them.
func headings(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		out[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	return out
}

// The code that the gallery shows is the code that runs: every excerpt is a run of lines of the file that it names.
func TestExcerptsOfTheGallery(t *testing.T) {
	root := repository(t)
	text, err := os.ReadFile(filepath.Join(root, "docs/plugins/gallery.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Count(string(text), "```go\n")
	excerpts := regexp.MustCompile("(?s)From \\[(\\S+)\\]\\(\\.\\./\\.\\./(\\S+)\\):\n\n```go\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	for _, e := range excerpts {
		source, err := os.ReadFile(filepath.Join(root, e[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		if e[1] != e[2] || !hasLines(string(source), e[3]) {
			t.Errorf("the gallery shows as a part of %s what is not there; copy the lines anew:\n%s", e[1], e[3])
		}
	}
	if len(excerpts) != blocks || blocks < 20 {
		t.Errorf("%d excerpts name their file, there are %d", len(excerpts), blocks)
	}
}

// hasLines tells whether the lines follow each other in a text that may indent them further.
func hasLines(text, lines string) bool {
	for indent := range 6 {
		deeper := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(lines, strings.Repeat("\t", indent)+"$1")
		if strings.Contains("\n"+text, "\n"+deeper) {
			return true
		}
	}
	return false
}

// Every first-party planner has a place in the gallery.
func TestTheGalleryIsComplete(t *testing.T) {
	text := pages(t)[filepath.Join(repository(t), "docs/plugins/gallery.md")]
	all, err := firstParty(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		heading := regexp.MustCompile(`(?m)^### (.*, )?` + regexp.QuoteMeta(p.Name) + `(,.*)?$`)
		if p.Kind == "planner" && !heading.MatchString(text) {
			t.Errorf("planner %s has no heading in docs/plugins/gallery.md", p.Name)
		}
	}
}
