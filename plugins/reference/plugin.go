package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

// Plugin is what the reference says of one plugin: what Describe answers, and how a command line names it.
type Plugin struct {
	Kind      string          `json:"kind"` // planner, sampler or trainer
	Name      string          `json:"name"`
	Version   string          `json:"version"`
	Summary   string          `json:"summary"`
	Needs     []string        `json:"needs"` // as `mdmhost plugin info` prints them
	CanRemask bool            `json:"can_remask"`
	CanInsert bool            `json:"can_insert"`
	Adaptive  bool            `json:"adaptive"`
	Options   json.RawMessage `json:"options"` // JSON Schema of the options object
	Path      string          `json:"-"`       // what --planner and its like are given; "" is the name
}

// Write writes the reference of the plugin as Markdown under a heading of the level: what it is, what it needs and may decide, its
// options, and command lines to start from. It is fit for an author's own README.
func (p Plugin) Write(w io.Writer, level int) error {
	list, err := options.Describe(string(p.Options))
	if err != nil {
		return fmt.Errorf("%s %s: %w", p.Kind, p.Name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n\n", strings.Repeat("#", level), p.Kind, code(p.Name))
	if p.Summary != "" {
		fmt.Fprintf(&b, "%s\n\n", sentence(p.Summary))
	}
	if p.Kind != "trainer" { // a trainer sees no steps
		fmt.Fprintf(&b, "- **Needs** %s.\n- **May** %s.\n- **Steps**: %s.\n", p.needs(), p.decides(), p.steps())
	}
	fmt.Fprintf(&b, "- **Version** %s.\n\n", cell(p.Version))
	if len(list) == 0 {
		b.WriteString("It has no options.\n\n")
	} else {
		b.WriteString(header("option", "values", "default", "meaning"))
		for _, o := range list {
			b.WriteString(row(code(o.Name), cell(o.Values), preset(o), cell(o.Help)))
		}
		b.WriteString("\n")
	}
	b.WriteString("```sh\n")
	for _, c := range p.commands(list) {
		b.WriteString(c + "\n")
	}
	b.WriteString("```\n\n")
	_, err = io.WriteString(w, b.String())
	return err
}

// sentence begins with a large letter and ends with a full stop; what begins otherwise begins no heading, list or block either.
func sentence(s string) string {
	r := []rune(strings.TrimSuffix(cell(s), "."))
	switch {
	case len(r) == 0:
		return ""
	case unicode.IsPunct(r[0]) || unicode.IsSymbol(r[0]):
		r = append([]rune{'\\'}, r...)
	default:
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r) + "."
}

func (p Plugin) needs() string {
	if len(p.Needs) == 0 {
		return "nothing but tokens and masks"
	}
	var out []string
	for _, n := range p.Needs {
		out = append(out, code(n))
	}
	return strings.Join(out, ", ") + " at most"
}

func (p Plugin) decides() string {
	out := "open blanks"
	if p.CanRemask {
		out += ", mask or overwrite written tokens"
	}
	if p.CanInsert {
		out += ", insert and delete positions"
	}
	return out
}

func (p Plugin) steps() string {
	if p.Adaptive {
		return "a cap; rows finish by themselves"
	}
	return "as many as the run says"
}

// commands are command lines to start from: with the defaults, and with one option set.
func (p Plugin) commands(list []options.Description) []string {
	name := p.Name
	if p.Path != "" {
		name = p.Path
	}
	command := fmt.Sprintf("mdmhost sample --%s %s", p.Kind, quote(name))
	if p.Kind == "trainer" {
		command = fmt.Sprintf("mdmhost train --run runs/mine --train rows.txt --trainer %s", quote(name))
	}
	out := []string{command}
	if o, ok := telling(list); ok {
		out = append(out, fmt.Sprintf("%s --set %s.%s=%s", command, p.Kind, o.Name, quote(value(o))))
	}
	return out
}

// telling is the option that an example sets: the first number, whose default shows what it looks like, or the first at all.
func telling(list []options.Description) (options.Description, bool) {
	for _, o := range list {
		if strings.HasPrefix(o.Values, "number") || strings.HasPrefix(o.Values, "integer") {
			return o, true
		}
	}
	if len(list) == 0 {
		return options.Description{}, false
	}
	return list[0], true
}

// preset is the default as a cell.
func preset(o options.Description) string {
	if text := unquoted(o.Default); text != "" {
		return code(text)
	}
	return ""
}

// value is one that the option takes: its default, where it has one.
func value(o options.Description) string { return cmp.Or(unquoted(o.Default), "VALUE") }

// unquoted is a text of JSON as a command line has it; other values stay as they are.
func unquoted(raw string) string {
	var text string
	if json.Unmarshal([]byte(raw), &text) == nil {
		return text
	}
	return raw
}

// quote makes a word for a shell.
func quote(s string) string {
	s = line(s)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
