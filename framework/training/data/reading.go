package data

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// record is a part of the data: a line's columns, or a block of a stream. Text is normalised.
type record struct {
	file  string
	line  int
	text  string
	other string // the fixed column or the prompt
}

// unfit is the error of a record that cannot be used; the next one may be.
type unfit struct{ error }

// reading goes through the files of one set, once.
type reading struct {
	ctx    context.Context
	spec   *Spec
	stage  string
	report func(Progress)
	bad    badLines
	done   int64 // bytes of files that were read
	total  int64
	stream text27
}

// newReading prepares to read files; report may be nil.
func newReading(ctx context.Context, s *Spec, stage string, files []string, report func(Progress)) (*reading, error) {
	r := &reading{ctx: ctx, spec: s, stage: stage, report: report}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; name an existing file", name, plain(err))
		}
		r.total += info.Size()
	}
	return r, nil
}

// each calls use for every record of the files, in order. Records that use finds [unfit] are noted as bad lines and have no
// effect; any other error ends the reading.
func (r *reading) each(files []string, use func(record) error) ([]File, error) {
	var out []File
	for _, name := range files {
		f, err := r.one(name, use)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
		r.done += f.Bytes
		r.stream.gap = true // a word does not go on in the next file
	}
	return out, nil
}

func (r *reading) one(name string, use func(record) error) (File, error) {
	src, err := openSource(name, func(read int64) {
		if r.report != nil {
			r.report(Progress{r.stage, name, r.done + read, r.total})
		}
	})
	if err != nil {
		return File{}, err
	}
	to := lines{
		good: func(line int, values []string) error { return r.fields(name, line, values, use) },
		bad:  func(line int, text string) { r.bad.add(name, line, text) },
	}
	switch format, _ := r.spec.kind(); format {
	case CSV:
		err = readCSV(name, src, r.spec.columns(), to)
	case JSONL:
		err = readJSONL(src, r.spec.columns(), to)
	default:
		err = readText(src, func(line int, text []byte) error { return r.block(name, line, text, use) })
	}
	if err != nil {
		return File{}, errors.Join(err, src.file.Close())
	}
	f, err := src.finish()
	return f, cmp.Or(err, r.ctx.Err())
}

// fields uses the columns of one line.
func (r *reading) fields(name string, line int, values []string, use func(record) error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	rec := record{file: name, line: line, text: values[0]}
	if len(values) > 1 {
		rec.other = values[1]
	}
	if r.spec.Normalize == Text27 {
		rec.text = string(new(text27).append(nil, rec.text))
		if r.spec.PromptColumn != "" {
			rec.other = string(new(text27).append(nil, rec.other))
		}
	}
	if rec.text == "" && r.spec.Empty != Keep {
		problem := r.spec.Column + ": expected text, found nothing"
		if r.spec.Layout == Padded {
			problem += "; data.empty=keep takes rows without any"
		}
		r.bad.add(name, line, problem)
		return nil
	}
	return r.note(rec, use(rec))
}

// note takes an unfit record for a bad line.
func (r *reading) note(rec record, err error) error {
	if bad := (unfit{}); errors.As(err, &bad) {
		r.bad.add(rec.file, rec.line, strings.TrimPrefix(bad.Error(), "text: "))
		return nil
	}
	return err
}

// block uses a block of a stream. If it is unfit, its lines are tried one by one, to find out which.
func (r *reading) block(name string, line int, text []byte, use func(record) error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	before := r.stream
	err := r.part(record{file: name, line: line, text: string(text)}, use)
	if bad := (unfit{}); !errors.As(err, &bad) {
		return err
	}
	r.stream = before
	for one := range bytes.Lines(text) {
		before = r.stream
		rec := record{file: name, line: line, text: string(one)}
		err := r.part(rec, use)
		if err != nil {
			r.stream = before
		}
		if err := r.note(rec, err); err != nil {
			return err
		}
		line++
	}
	return nil
}

func (r *reading) part(rec record, use func(record) error) error {
	if !utf8.ValidString(rec.text) {
		return unfit{errNotUTF8}
	}
	if r.spec.Normalize == Text27 {
		rec.text = string(r.stream.append(nil, rec.text))
	}
	if rec.text == "" {
		return nil
	}
	return use(rec)
}
