package data

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLength bounds rows, so that one absurd number cannot exhaust memory.
const maxLength = 1 << 24

// Problem is one thing that is wrong with a [Spec].
type Problem struct {
	Key  string // dotted, such as data.length
	Text string
}

// Problems is everything that is wrong with a [Spec]: an error that lists all of it.
type Problems []Problem

// Error lists the problems, one a line when there are several.
func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.Key+": "+one.Text)
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("data: %d problems\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// Validate checks the keys against each other and that the files are there. The error is of type [Problems].
func (s *Spec) Validate() error {
	v := &validation{Spec: *s}
	v.enums()
	if s.Prepared != "" {
		v.prepared()
	} else {
		v.sources()
		v.rows()
	}
	if len(v.problems) == 0 {
		return nil
	}
	return v.problems
}

type validation struct {
	Spec
	problems Problems
}

func (v *validation) say(key, format string, args ...any) {
	v.problems = append(v.problems, Problem{"data." + key, fmt.Sprintf(format, args...)})
}

func (v *validation) enums() {
	for _, e := range []struct {
		key, value string
		allowed    []string
	}{
		{"format", v.Format, []string{"", Text, JSONL, CSV}}, {"normalize", v.Normalize, []string{None, Text27}},
		{"layout", v.Layout, []string{Packed, Padded}}, {"too_long", v.TooLong, []string{Error, Drop, Truncate}},
		{"unknown", v.Unknown, []string{Error, Keep}}, {"empty", v.Empty, []string{Error, Keep}}, {"bad_lines", v.BadLines, []string{Error, Skip}},
	} {
		if !slices.Contains(e.allowed, e.value) {
			shown := slices.DeleteFunc(e.allowed, func(s string) bool { return s == "" })
			v.say(e.key, "expected %s, found %q", strings.Join(shown, " or "), e.value)
		}
	}
	if v.Length < 0 || v.Length > maxLength {
		v.say("length", "expected positions a row, 1 to %d, found %d", maxLength, v.Length)
	}
	if math.IsNaN(v.ValidFraction) || v.ValidFraction < 0 || v.ValidFraction > 0.5 {
		v.say("valid_fraction", "expected a number from 0 to 0.5, found %g", v.ValidFraction)
	}
}

// prepared checks that the directory is there: what goes with it depends on what it was made with.
func (v *validation) prepared() {
	if _, err := os.Stat(filepath.Join(v.Prepared, indexName)); err != nil {
		v.say("prepared", "expected a directory that `mdmhost data prepare` wrote: %v", plain(err))
	}
}

func (v *validation) sources() {
	if len(v.Train) == 0 {
		v.say("train", "expected at least one file (or data.prepared)")
	}
	v.files("train", v.Train)
	v.files("valid", v.Valid)
	if len(v.Valid) > 0 && v.ValidFraction > 0 {
		v.say("valid_fraction", "cannot be given with data.valid; remove one of the two")
	}
	format, mixed := v.kind()
	switch {
	case mixed != "":
		v.say("format", "%s; name the format: text, jsonl or csv", mixed)
	case format == Text:
		for _, k := range [][2]string{{"column", v.Column}, {"fixed_column", v.FixedColumn}, {"prompt_column", v.PromptColumn}} {
			if k[1] != "" {
				v.say(k[0], "has no meaning in the format text, which has no columns; remove it")
			}
		}
		if v.Layout == Padded {
			v.say("layout", "padded needs records, which the format text has not; use packed, or jsonl or csv files")
		}
	case (format == JSONL || format == CSV) && v.Column == "":
		v.say("column", "expected the %s of the text", map[string]string{JSONL: "JSON key", CSV: "CSV column"}[format])
	}
}

func (v *validation) files(key string, names []string) {
	for _, name := range names {
		if name == "-" {
			v.say(key, "standard input (-) cannot be taken, since data is read more than once; save it as a file")
			continue
		}
		switch info, err := os.Stat(name); {
		case err != nil:
			v.say(key, "%s: %v", name, plain(err))
		case !info.Mode().IsRegular():
			v.say(key, "%s: expected a file, found %s; name the files in it", name, kindOf(info.Mode()))
		}
	}
}

func kindOf(m fs.FileMode) string {
	if m.IsDir() {
		return "a directory"
	}
	return "a device or pipe"
}

// plain takes the name out of an error that the message names itself.
func plain(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// kind returns the format of the files; mixed says why it cannot be told.
func (s *Spec) kind() (format, mixed string) {
	if s.Format != "" {
		return s.Format, ""
	}
	for _, name := range slices.Concat(s.Train, s.Valid) {
		this, ok := map[string]string{".txt": Text, ".jsonl": JSONL, ".csv": CSV}[filepath.Ext(strings.TrimSuffix(name, ".gz"))]
		switch {
		case name == "-":
		case !ok:
			return "", fmt.Sprintf("the ending of %s is not .txt, .jsonl or .csv", name)
		case format != "" && this != format:
			return "", fmt.Sprintf("%s is not %s like the files before it", name, format)
		default:
			format = this
		}
	}
	return format, ""
}

func (v *validation) rows() {
	if v.Length == 0 {
		v.say("length", "expected positions a row, 1 to %d", maxLength)
	}
	if v.Tokenizer == "" {
		v.say("tokenizer", "expected characters, smiles or the path of a tokenizer.json")
	}
	format, _ := v.kind()
	for _, k := range []struct {
		key string
		on  bool
	}{{"bos", v.BOS}, {"eos", v.EOS}} {
		switch {
		case k.on && !v.made():
			v.say(k.key, "has no meaning for an existing tokenizer, whose post-processor decides; remove it")
		case k.on && format == Text:
			v.say(k.key, "has no meaning in the format text, a stream without records; remove it")
		}
	}
	if v.FixedColumn != "" && v.PromptColumn != "" {
		v.say("prompt_column", "cannot be given with data.fixed_column; remove one of the two")
	}
	if v.Layout == Packed && (v.FixedColumn != "" || v.PromptColumn != "") {
		v.say("layout", "packed rows have no fixed positions; use padded, or remove data.fixed_column and data.prompt_column")
	}
	if (v.FixedColumn == "") != (v.Blank == "") {
		v.say("blank", "expected together with data.fixed_column: the characters that leave a position free")
	}
	if v.Layout == Packed && v.Empty != Error {
		v.say("empty", "has no meaning for packed rows, which all have data.length tokens; remove it")
	}
	if v.Layout == Packed && v.TooLong != Error {
		v.say("too_long", "has no meaning for packed rows, which all have data.length tokens; remove it")
	}
}
