package reference

import (
	"fmt"
	"io"
	"strings"

	"github.com/mdmhost/mdmhost/plugins/sdk/catalog"
)

// Needs writes the table of all statistics that planners and samplers may ask for, and of what every row carries.
func Needs(w io.Writer) error {
	var b strings.Builder
	b.WriteString(header("need", "in Go", "column: in Python, in Go", "numbers", "meaning"))
	for _, s := range catalog.Statistics() {
		var names, numbers []string
		for _, c := range s.Columns {
			names = append(names, columnName(c))
			numbers = append(numbers, columnNumbers(c))
		}
		for i, form := range s.Forms {
			meaning := s.Help
			if i > 0 {
				meaning = "the same"
			}
			switch {
			case form.Help != "" && len(s.Forms) > 1:
				meaning += ". Of: " + form.Help
			case form.Help != "":
				meaning += ". " + form.Help
			}
			if s.Host != "" {
				meaning += ". Only with " + s.Host
			}
			b.WriteString(row(code(form.Need), functions(form.Go), strings.Join(names, "<br>"), strings.Join(numbers, "<br>"), cell(meaning)))
		}
	}
	b.WriteString("\nWithout being asked for, every row carries\n\n" + header("column: in Python, in Go", "numbers", "meaning"))
	for _, c := range catalog.Facts() {
		b.WriteString(row(columnName(c), columnNumbers(c), cell(c.Help)))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// Decisions writes the table of all that a planner may decide.
func Decisions(w io.Writer) error {
	var b strings.Builder
	b.WriteString(header("in Python", "in Go", "fields", "meaning"))
	for _, v := range catalog.Verbs() {
		var fields []string
		for _, f := range v.Fields {
			fields = append(fields, code(f))
		}
		meaning := v.Help
		if v.Allows != "" {
			meaning += ". Only with " + v.Allows
		}
		b.WriteString(row(code(v.Python), code(v.Go), strings.Join(fields, ", "), cell(meaning)))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// functions are those of package sdk that a need is declared with.
func functions(list string) string {
	var out []string
	for name := range strings.SplitSeq(list, ", ") {
		out = append(out, code("sdk."+name))
	}
	return strings.Join(out, ", ")
}

// columnName is the column in Python and in Go.
func columnName(c catalog.Column) string {
	if c.Field == "" {
		return code(c.Name)
	}
	return code(c.Name) + ", " + code(c.Field)
}

// columnNumbers are type, shape and unit, such as "float32 [n], nats".
func columnNumbers(c catalog.Column) string {
	out := strings.TrimSpace(fmt.Sprintf("%s %s", c.Type, c.Shape))
	if c.Unit != "" {
		out += ", " + c.Unit
	}
	return cell(out)
}
