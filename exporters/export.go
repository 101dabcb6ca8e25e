package exporters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// defaultTimeout is what verification may take.
const defaultTimeout = 10 * time.Minute

// Result is an export that was written.
type Result struct {
	Out string `json:"out"`
	*Record
}

// Export writes the model for a target's stack into the directory out, whole or not at all: checked, written under another name, verified, then put
// into place. A directory that is there already is exchanged for it, unless it holds files that the new one lacks. Where the stack is
// missing, or o says so, the export is not verified; the record says why. An export that answers otherwise than the source is no export.
func Export(ctx context.Context, t Target, s *Source, o Options, out string) (*Result, error) {
	info := t.Info()
	if err := errors.Join(o.settle(info), apart(s, out)); err != nil {
		return nil, &Refused{err}
	}
	if err := t.Check(s, o); err != nil {
		return nil, err
	}
	files, err := t.Files(ctx, s, o)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", info.Name, err)
	}
	if _, taken := files[RecordName]; taken {
		return nil, fmt.Errorf("target %s: writes %s, which is this program's own", info.Name, RecordName)
	}
	if err := addNotices(files, s); err != nil {
		return nil, err
	}
	for name, write := range files {
		files[name] = stoppable(ctx, write)
	}
	o.say("writing %s for target %s", s.Name, info.Name)
	result := &Result{Out: out}
	err = wholefile.ReplaceDir(out, files, func(dir string) error {
		verified, err := verify(ctx, t, s, o, dir)
		if err != nil {
			return err
		}
		if result.Record, err = record(s, info, o, verified, dir); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return result.Record.write(dir)
	}, RecordName)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", out, err)
	}
	return result, nil
}

// addNotices adds the licences of the source: copies of a model go with them.
func addNotices(files wholefile.Files, s *Source) error {
	names, err := s.Notices()
	if err != nil {
		return fmt.Errorf("model %s: %w", s.Name, err)
	}
	for _, name := range names {
		if _, own := files[name]; own {
			continue // of what the target adds
		}
		b, err := s.ReadFile(name)
		if err != nil {
			return fmt.Errorf("model %s: %w", s.Name, err)
		}
		files[name] = wholefile.Bytes(b)
	}
	return nil
}

// Refused is the error of options that a target does not take, and of places where no export can be.
type Refused struct{ error }

// Unwrap returns what is wrong.
func (r *Refused) Unwrap() error { return r.error }

// settle fills in defaults and refuses what the target does not take.
func (o *Options) settle(info Info) error {
	info = info.Filled()
	o.Precision = cmp.Or(o.Precision, info.Precisions[0])
	o.Verify, o.Timeout = cmp.Or(o.Verify, VerifyAuto), cmp.Or(o.Timeout, defaultTimeout)
	if !slices.Contains(info.Precisions, o.Precision) {
		return fmt.Errorf("precision %s: target %s takes %s; give one of them", o.Precision, info.Name, strings.Join(info.Precisions, ", "))
	}
	if !slices.Contains([]string{VerifyAuto, VerifyMust, VerifyOff}, o.Verify) {
		return fmt.Errorf("verify %q: expected %s, %s or %s", o.Verify, VerifyAuto, VerifyMust, VerifyOff)
	}
	var problems []error
	for _, option := range []struct {
		name  string
		given bool
	}{{"head", o.Head != "" && o.Head != HeadNone}, {"rows", o.Rows != 0}, {"length", o.Length != 0}} {
		if option.given && !slices.Contains(info.Options, option.name) {
			problems = append(problems, fmt.Errorf("%s: is none of the options of target %s; leave it out, or export with --to onnx, which has it", option.name, info.Name))
		}
	}
	return errors.Join(problems...)
}

func (o *Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// apart refuses to write over the source, or into it.
func apart(s *Source, out string) error {
	if s.Dir == "" {
		return nil
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	for dir := to; ; dir = filepath.Dir(dir) {
		if same(dir, s.Dir) {
			if dir == to {
				return fmt.Errorf("export %s: is the model itself; give another name", out)
			}
			return fmt.Errorf("export %s: is inside the model %s; give a name outside", out, s.Name)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// same tells whether both are one directory, by whatever name.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// verify lets the stack answer, and judges.
func verify(ctx context.Context, t Target, s *Source, o Options, dir string) (*Verified, error) {
	info := t.Info()
	if o.Verify == VerifyOff {
		o.say("not verified: it was not asked for")
		return &Verified{Reason: "not asked for"}, nil
	}
	o.say("verifying with %s", info.Stack)
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("verification took more than %v; give it more with --timeout, or none with --verify off", o.Timeout))
	defer cancel()
	v, err := t.Verify(limited, s, o, dir)
	switch {
	case errors.Is(err, ErrNoStack) && o.Verify == VerifyAuto:
		o.say("NOT verified: %v; needed: %s", err, strings.Join(info.Needs, ", "))
		return &Verified{Reason: err.Error()}, nil
	case errors.Is(err, ErrNoStack):
		return nil, fmt.Errorf("%w; needed: %s; install it, or leave --verify must out", err, strings.Join(info.Needs, ", "))
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && limited.Err() != nil:
		return nil, context.Cause(limited)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", info.Stack, err)
	}
	if err := judge(o, v); err != nil {
		return nil, err
	}
	o.say("verified: %s", v)
	return &Verified{Verdict: v}, nil
}

// maxRelativeRate bounds the differences of rates in single precision.
const maxRelativeRate = 1e-4

// judge refuses a verdict that shows that the stack answers otherwise, or one that shows nothing.
func judge(o Options, v *Verdict) error {
	if !(v.MaxLogit >= 0 && v.MaxRate >= 0) || math.IsInf(v.MaxLogit, 0) || math.IsInf(v.MaxRate, 0) || v.Tokens < v.TokenErrors || v.TokenErrors < v.NearTies || v.NearTies < 0 {
		return fmt.Errorf("the verifier's verdict %+v holds no sensible numbers, expected differences and counts; report this, and export with --verify off", *v)
	}
	if v.Positions == 0 && v.Elements == 0 {
		return fmt.Errorf("%s compared nothing, expected at least one position; report this, and export with --verify off", v.Stack)
	}
	if o.Precision != FP32 || v.Positions == 0 {
		v.Limit = 0
		return nil
	}
	const advice = "try another version of the stack, or look at the export with --verify off"
	switch {
	case v.MaxLogit > v.Limit:
		return fmt.Errorf("%s: logits differ by %g, expected at most %g; %s", v.Stack, v.MaxLogit, v.Limit, advice)
	case v.MaxRate > maxRelativeRate:
		return fmt.Errorf("%s: rates differ by %g of their size, expected at most %g; %s", v.Stack, v.MaxRate, maxRelativeRate, advice)
	case v.TokenErrors > v.NearTies:
		return fmt.Errorf("%s: %d of %d tokens differ, expected none but where two are equally probable (%d); %s", v.Stack, v.TokenErrors, v.Tokens, v.NearTies, advice)
	}
	return nil
}

// String says the verdict to people.
func (v *Verdict) String() string {
	var parts []string
	if v.Elements > 0 {
		parts = append(parts, fmt.Sprintf("%d numbers are the same", v.Elements))
	}
	if v.Positions > 0 {
		limit := ""
		if v.Limit > 0 {
			limit = fmt.Sprintf(" (limit %.2g)", v.Limit)
		}
		parts = append(parts, fmt.Sprintf("logits of %d positions differ by at most %.2g%s", v.Positions, v.MaxLogit, limit))
	}
	if v.MaxRate > 0 {
		parts = append(parts, fmt.Sprintf("rates by %.2g of their size", v.MaxRate))
	}
	if v.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens differ (%d near ties)", v.TokenErrors, v.Tokens, v.NearTies))
	}
	return v.Stack + ": " + strings.Join(parts, ", ")
}
