package reference

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mdmhost/mdmhost/plugins/proto/source"
)

// Protocol writes every service, message and enumeration of the plugin protocol with its comments.
func Protocol(w io.Writer) error {
	file, err := source.Protocol()
	if err != nil {
		return err
	}
	var b strings.Builder
	said := comments{file}
	fmt.Fprintf(&b, "## Services\n\n")
	for i := range file.Services().Len() {
		said.service(&b, file.Services().Get(i))
	}
	fmt.Fprintf(&b, "## Messages\n\n%s\n\n", said.ofPackage())
	for i := range file.Messages().Len() {
		said.message(&b, file.Messages().Get(i))
	}
	fmt.Fprintf(&b, "## Enumerations\n\n")
	for i := range file.Enums().Len() {
		said.enum(&b, file.Enums().Get(i))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// comments are those of the .proto file.
type comments struct{ file protoreflect.FileDescriptor }

// ofPackage returns the comment of the file's package, which says what holds for all messages.
func (c comments) ofPackage() string {
	at := c.file.SourceLocations().ByPath(protoreflect.SourcePath{2}) // the package statement
	return paragraphs(at.LeadingComments)
}

// of returns the comments above and behind a declaration.
func (c comments) of(d protoreflect.Descriptor) (above, behind string) {
	at := c.file.SourceLocations().ByDescriptor(d)
	return paragraphs(at.LeadingComments), paragraphs(at.TrailingComments)
}

// paragraphs joins the lines of each paragraph.
func paragraphs(text string) string {
	var out []string
	for p := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(text, "\n \n", "\n\n")), "\n\n") {
		if p = line(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

func (c comments) service(b *strings.Builder, s protoreflect.ServiceDescriptor) {
	above, _ := c.of(s)
	fmt.Fprintf(b, "### %s\n\n%s\n\n%s", s.Name(), above, header("method", "takes", "returns", "what it does"))
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		does, _ := c.of(m)
		b.WriteString(row(code(string(m.Name())), link(m.Input()), link(m.Output()), cell(does)))
	}
	b.WriteString("\n")
}

func (c comments) message(b *strings.Builder, m protoreflect.MessageDescriptor) {
	above, behind := c.of(m)
	fmt.Fprintf(b, "### %s\n\n", m.Name())
	if text := strings.TrimSpace(above + " " + behind); text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	if m.Fields().Len() == 0 {
		b.WriteString("It has no fields.\n\n")
		return
	}
	b.WriteString(header("number", "field", "type", "meaning"))
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		above, behind := c.of(f)
		if above != "" && behind != "" { // a heading over several fields and the field's own words
			b.WriteString(row("", "", "", "*"+cell(above)+"*"))
			above = ""
		}
		b.WriteString(row(fmt.Sprint(f.Number()), code(string(f.Name())), typeOf(f), cell(above+behind)))
	}
	b.WriteString("\n")
}

func (c comments) enum(b *strings.Builder, e protoreflect.EnumDescriptor) {
	above, _ := c.of(e)
	fmt.Fprintf(b, "### %s\n\n%s\n\n%s", e.Name(), above, header("number", "value", "meaning"))
	for i := range e.Values().Len() {
		v := e.Values().Get(i)
		above, behind := c.of(v)
		b.WriteString(row(fmt.Sprint(v.Number()), code(string(v.Name())), cell(above+behind)))
	}
	b.WriteString("\n")
}

// typeOf is a field's type as the .proto file writes it, linked where it is one of ours.
func typeOf(f protoreflect.FieldDescriptor) string {
	if f.IsMap() {
		return code(fmt.Sprintf("map<%s, %s>", f.MapKey().Kind(), f.MapValue().Kind()))
	}
	name := code(f.Kind().String())
	switch f.Kind() {
	case protoreflect.MessageKind:
		name = link(f.Message())
	case protoreflect.EnumKind:
		name = link(f.Enum())
	}
	if f.IsList() {
		return "repeated " + name
	}
	return name
}

// link points to the heading of a message or an enumeration.
func link(d protoreflect.Descriptor) string {
	return fmt.Sprintf("[%s](#%s)", code(string(d.Name())), strings.ToLower(string(d.Name())))
}
