package exporters

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// exitNoStack is how a verifier says that something it needs is not installed.
const exitNoStack = 3

// Bounds of what a verifier may say.
const (
	maxAnswer = 1 << 24 // bytes on standard output
	maxWords  = 1 << 16 // bytes kept of standard error
)

// comparing is the module that scripts import as compare: it holds a stack's answers against a reference.
//
//go:embed compare.py
var comparing []byte

// VerifyPython lets a script in Python compare the export in dir with a reference. The script is run with the arguments DIR
// EXPECTED MORE..., EXPECTED a file of [Reference.WriteFile], and prints, as the last line of its output, one line of JSON: the fields of [Verdict], but for the
// limit, as the function compare of the module compare does. It ends with 3 and a line on standard error where a package is missing: the error is
// then [ErrNoStack]. Nothing is written into dir.
func VerifyPython(ctx context.Context, o Options, script []byte, dir string, r *Reference, more ...string) (*Verdict, error) {
	tmp, err := os.MkdirTemp("", "mdmhost-verify-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // a folder of the system's temporary ones
	expected := filepath.Join(tmp, "expected.safetensors")
	if err := r.WriteFile(expected); err != nil {
		return nil, err
	}
	line, err := RunPython(ctx, o, script, append([]string{dir, expected}, more...)...)
	if err != nil {
		return nil, err
	}
	v := &Verdict{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, fmt.Errorf("the verifier printed %q, expected one line of JSON, a verdict: %w", clip(line), err)
	}
	if v.Positions > 0 {
		v.Limit = r.Limit()
	}
	return v, nil
}

// RunPython runs a script in the interpreter of o, in a folder of its own, with compare.py beside it, and returns the last line that it prints. The process and all
// that it starts are killed when ctx ends. Nothing is fetched: Hugging Face's libraries are told to be offline.
func RunPython(ctx context.Context, o Options, script []byte, args ...string) ([]byte, error) {
	program, err := interpreter(o.Python)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "mdmhost-python-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // a folder of the system's temporary ones
	file := filepath.Join(tmp, "verify.py")
	for path, text := range map[string][]byte{file: script, filepath.Join(tmp, "compare.py"): comparing} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	for i, a := range args {
		if args[i], err = filepath.Abs(a); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-B", file}, args...)...)
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONSAFEPATH=", "PYTHONUTF8=1", "HF_HOME="+filepath.Join(tmp, "hf"), "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1",
		"TOKENIZERS_PARALLELISM=false")
	out, words := &bounded{most: maxAnswer}, &bounded{most: maxWords, last: true}
	cmd.Stdout, cmd.Stderr = out, words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() == exitNoStack:
		return nil, fmt.Errorf("%w: %s", ErrNoStack, lastLine(words.Bytes()))
	case err != nil && len(bytes.TrimSpace(words.Bytes())) == 0:
		return nil, fmt.Errorf("%s: the verifier ended with %w and said nothing; try another interpreter, or export with --verify off", program, err)
	case err != nil:
		return nil, fmt.Errorf("%s: the verifier ended with %w:\n%s", program, err, bytes.TrimSpace(words.Bytes()))
	case out.full:
		return nil, fmt.Errorf("%s: the verifier printed more than %d bytes, expected one line of JSON", program, maxAnswer)
	}
	return lastLine(out.Bytes()), nil
}

// interpreter finds Python. One that was named must be there.
func interpreter(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("export.python: %w; give the path of a Python interpreter", err)
		}
		return filepath.Abs(path)
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("%w: there is no python3 on the path; install it, or give one with --python", ErrNoStack)
	}
	return filepath.Abs(path)
}

// bounded keeps the first, or with last the last, bytes that are written, at most twice as many as most while it is written.
type bounded struct {
	bytes.Buffer
	most       int
	last, full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if !b.last {
		if b.full = b.full || n > b.most-b.Len(); b.full {
			return n, nil
		}
	} else if p = p[max(0, n-b.most):]; b.Len()+len(p) > b.most {
		b.Next(b.Len() + len(p) - b.most)
	}
	_, err := b.Buffer.Write(p)
	return n, err
}

// lastLine is the last line with something in it.
func lastLine(b []byte) []byte {
	b = bytes.TrimSpace(b)
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

func clip(b []byte) string {
	if len(b) > 200 {
		return strings.ToValidUTF8(string(b[:200]), "?") + "..."
	}
	return string(b)
}
