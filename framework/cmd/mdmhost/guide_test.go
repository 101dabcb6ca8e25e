// The pages speak of the program as it is shipped, and their commands take minutes: they are run once, in its build.

//go:build tokenizers

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

// The commands of the pages on plugins, exports and imports are run as a reader would: in an empty folder, in one shell, in their order,
// with nothing but the binary, Go, Python and their package indexes.
//
//	```sh          must succeed
//	```sh fails    must not
//	```sh torch    needs PyTorch and transformers: run where PEERS_PYTHON names a Python with them
//	```sh no-run   is not run; the page says why
//	```text        after one of them: what it prints, where ... stands for anything
//
// The page on servers is run where MLSERVER_PYTHON names a Python with MLServer, whose program mlserver is on the path, and DOCS the folder docs/runtimes; that on OpenVINO
// where OPENVINO_SHARED_LIBRARY_PATH names its library.
// In pages on exports and imports $PYTHON is that Python, or else the one that EXPORT_PYTHON names, with what scripts/setup-python-kit.sh export installs.
func TestCommandsOfPages(t *testing.T) {
	python, peers := os.Getenv("EXPORT_PYTHON"), os.Getenv("PEERS_PYTHON")
	for path, text := range pages(t) {
		blocks := readBlocks(text)
		if len(blocks) == 0 || filepath.Base(path) == "reference.md" {
			continue
		}
		name, err := filepath.Rel(filepath.Join(repository(t), "docs"), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			if filepath.ToSlash(name) == "runtimes/openinference.md" {
				if os.Getenv("MLSERVER_PYTHON") == "" {
					t.Skip("MLSERVER_PYTHON names no Python with MLServer; scripts/test-openinference.sh runs this")
				}
			} else if filepath.ToSlash(name) == "runtimes/openvino.md" {
				if os.Getenv(openvino.LibraryVariable) == "" {
					t.Skip(openvino.LibraryVariable + " names no library; scripts/test-exports.sh runs this")
				}
			} else if dir := filepath.Dir(name); dir != "plugins" && dir != "runtimes" && name != "serve.md" {
				if python == "" {
					t.Skip("EXPORT_PYTHON names no Python with the stacks of exports; scripts/test-exports.sh runs this")
				}
				for i := range blocks {
					blocks[i].python = python
					if blocks[i].torch {
						blocks[i].python = peers
					}
				}
				blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.python == "" })
				if len(blocks) == 0 {
					t.Skip("all commands need PyTorch: PEERS_PYTHON names no Python with it")
				}
			}
			follow(t, blocks)
		})
	}
}

// block is a block of commands with what the page says that they print.
type block struct {
	line     int // where it begins
	commands string
	fails    bool
	torch    bool   // it needs PyTorch
	python   string // that stands as $PYTHON
	prints   *string
}

// readBlocks returns the blocks of a page that are run.
func readBlocks(text string) (out []block) {
	var last *block
	fences := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$").FindAllStringSubmatchIndex(text, -1)
	for _, f := range fences {
		kind, body := text[f[2]:f[3]], text[f[4]:f[5]]
		switch kind {
		case "sh", "sh fails", "sh torch":
			out = append(out, block{line: 1 + strings.Count(text[:f[0]], "\n"), commands: body, fails: kind == "sh fails", torch: kind == "sh torch"})
			last = &out[len(out)-1]
			continue
		case "text":
			if last != nil {
				last.prints = &body
			}
		}
		last = nil
	}
	return out
}

// follow runs the blocks in one shell and compares what they print.
func follow(t *testing.T, blocks []block) {
	dir, logs := t.TempDir(), t.TempDir()
	var script strings.Builder
	for i, b := range blocks {
		log := filepath.Join(logs, fmt.Sprint(i))
		fmt.Fprintf(&script, "PYTHON=%s\n", b.python)
		if b.fails {
			fmt.Fprintf(&script, "if ( set -e\n%s\n) >%s 2>&1; then exit 1; fi\n", b.commands, log)
		} else {
			fmt.Fprintf(&script, "set -e\n{\n%s\n} >%s 2>&1\n", b.commands, log)
		}
		fmt.Fprintf(&script, ": >%s.done\n", log)
	}
	cmd := exec.Command("sh", "-c", script.String())
	cmd.Dir, cmd.Env = dir, reader(t, dir)
	failed := cmd.Run()
	for i, b := range blocks {
		said, err := os.ReadFile(filepath.Join(logs, fmt.Sprint(i)))
		if err != nil {
			return // not begun: the one before has failed
		}
		if _, err := os.Stat(filepath.Join(logs, fmt.Sprint(i)+".done")); err != nil {
			t.Fatalf("line %d: the commands should have %s (%v):\n%s\nthey said:\n%s", b.line, map[bool]string{true: "failed", false: "succeeded"}[b.fails], failed, b.commands, said)
		}
		if b.prints != nil && !loosely(*b.prints).Match(said) {
			t.Errorf("line %d: the commands\n%s\nprint\n%s\nwhere the page has\n%s", b.line, b.commands, said, *b.prints)
		}
	}
	if failed != nil {
		t.Error(failed)
	}
}

// loosely matches text in which ... stands for anything, alone on a line for any number of lines, and space at the ends of lines
// for nothing.
func loosely(text string) *regexp.Regexp {
	var b strings.Builder
	for l := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if strings.TrimSpace(l) == "..." {
			b.WriteString(`(?:[^\n]*(?:\n|$))*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(l, " ")), `\.\.\.`, "(?s:.*?)") + `[ \t]*(?:\n|$)`)
	}
	return regexp.MustCompile(`^\s*` + b.String() + `\s*$`)
}

// reader is the environment of somebody new: without settings and installed plugins, but with this machine's Go and pip.
func reader(t *testing.T, dir string) []string {
	library, err := onnx.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MDMHOST_") })
	return append(env, "XDG_DATA_HOME="+filepath.Join(dir, ".local", "share"), onnx.LibraryVariable+"="+library)
}

func TestLoosely(t *testing.T) {
	for _, c := range []struct {
		page, said string
		want       bool
	}{
		{"a ... c\n", "a b c\n", true},
		{"a\n...\nc", "a  \nb\nb\nc", true},
		{"a\n...", "a\nb\n\n", true},
		{"a\n...\nc", "a\nc", true},
		{"...\na ...\n\n...\nb\n...", "x\na 1\n\nb", true},
		{"a\n...\nc", "a\nd", false},
		{"a", "a\nb", false},
		{"a (b)", "a (b)", true},
		{"a.b", "axb", false},
	} {
		if got := loosely(c.page).MatchString(c.said); got != c.want {
			t.Errorf("%q against %q: %v", c.said, c.page, got)
		}
	}
}

func TestReadBlocks(t *testing.T) {
	got := readBlocks("# x\n```sh\na\n```\n\n```text\nA\n```\n```sh no-run\nb\n```\n```text\nB\n```\n```sh fails\nc\n```\n```sh torch\ne\n```\n```go\nd\n```\n```text\nC\n```\n")
	if len(got) != 3 || !got[2].torch || got[0].torch || got[0].commands != "a\n" || *got[0].prints != "A\n" || got[0].line != 2 || !got[1].fails || got[1].prints != nil {
		t.Errorf("%+v", got)
	}
}
