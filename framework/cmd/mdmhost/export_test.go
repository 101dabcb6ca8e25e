package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An export that is interrupted while it is verified ends with the signal's code, leaves nothing, and its verifier does not outlive it.
func TestExportInterrupted(t *testing.T) {
	dir := t.TempDir()
	verifier, begun := filepath.Join(dir, "python"), filepath.Join(dir, "begun")
	if err := os.WriteFile(verifier, []byte("#!/bin/sh\necho $$ >"+begun+".new && mv "+begun+".new "+begun+"\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mdmhost", "export", "--to", "safetensors", "--python", verifier, "sudoku", filepath.Join(dir, "new", "out"))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for deadline := time.Now().Add(time.Minute); pid == 0; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(begun); err == nil {
			if pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("verification never began")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("expected exit code 130, found %v: %s", err, said.String())
	}
	left, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the verifier, process %d, runs still: %v", pid, err)
	}
}
