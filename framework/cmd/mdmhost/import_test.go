package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// An import that is interrupted while it writes ends with the signal's code and leaves nothing.
func TestImportInterrupted(t *testing.T) {
	source, into := t.TempDir(), t.TempDir()
	sample := filepath.Join(repository(t), "framework/network/family/testdata/modernbert")
	config, err := os.ReadFile(filepath.Join(sample, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	const vocabulary = 1 << 22 // 512 MiB of embeddings, which take seconds to write and lie nowhere: the file has a hole
	config = bytes.Replace(config, []byte(`"vocab_size": 40`), fmt.Appendf(nil, `"vocab_size": %d`, vocabulary), 1)
	config = bytes.Replace(config, []byte(`"pad_token_id": 1`), []byte(`"pad_token_id": 9`), 1)
	f, err := safetensors.Open(filepath.Join(sample, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensors, size := f.Tensors(), int64(0)
	for i := range tensors {
		x := &tensors[i]
		if x.Shape[0] == 40 {
			x.Shape[0] = vocabulary
			x.Data = make([]byte, x.Len()*4)
		}
		size += int64(len(x.Data))
	}
	head, err := safetensors.Header(tensors, nil)
	if err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(source, "model.safetensors")
	if err := errors.Join(os.WriteFile(filepath.Join(source, "config.json"), config, 0o600), os.WriteFile(weights, head, 0o600), os.Truncate(weights, int64(len(head))+size)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mdmhost", "import", "--tokenizer", filepath.Join(repository(t), "framework/model/embedded/sudoku/tokenizer.json"), source, filepath.Join(into, "out"))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	entries := func() []os.DirEntry {
		found, err := os.ReadDir(into)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for deadline := time.Now().Add(time.Minute); len(entries()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was ever written")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("expected exit code 130, found %v: %s", err, said.String())
	}
	if left := entries(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
