package compat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mdmhost/mdmhost/plugins/proto/compat"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

type file = descriptorpb.FileDescriptorProto

func message(f *file, name string) *descriptorpb.DescriptorProto {
	return f.MessageType[slices.IndexFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool { return m.GetName() == name })]
}

func field(f *file, in, name string) *descriptorpb.FieldDescriptorProto {
	fields := message(f, in).Field
	return fields[slices.IndexFunc(fields, func(m *descriptorpb.FieldDescriptorProto) bool { return m.GetName() == name })]
}

func method(f *file, i int, name string) *descriptorpb.MethodDescriptorProto {
	methods := f.Service[i].Method
	return methods[slices.IndexFunc(methods, func(m *descriptorpb.MethodDescriptorProto) bool { return m.GetName() == name })]
}

// rename renames something and whatever names it.
func rename(f *file, from, to string) {
	raw := []byte(strings.ReplaceAll(string(must(proto.Marshal(f))), from, to)) // as long as each other
	proto.Reset(f)
	if err := proto.Unmarshal(raw, f); err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// mutants are changes of the protocol and what is said of them.
var mutants = map[string]struct {
	change          func(*file)
	breaking, added string
}{
	"nothing": {change: func(*file) {}},
	"comments": {change: func(f *file) {
		f.SourceCodeInfo = &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{{Span: []int32{0, 0, 1}, LeadingComments: proto.String("new")}}}
	}},
	"go package":   {change: func(f *file) { f.Options.GoPackage = proto.String("example.org/elsewhere;v1") }},
	"package":      {change: func(f *file) { rename(f, "mdmhost.v1", "mdmhost.v2") }, breaking: "package mdmhost.v1 is now mdmhost.v2"},
	"syntax":       {change: func(f *file) { f.Syntax = proto.String("proto2") }, breaking: "syntax proto3 is now proto2"},
	"message gone": {change: func(f *file) { rename(f, "EndReply", "EndReplx") }, breaking: "message EndReply is gone", added: "message EndReplx"},
	"field gone": {change: func(f *file) { m := message(f, "Decision"); m.Field = m.Field[1:] },
		breaking: "field Decision.open, number 1, is gone"},
	"field renamed":    {change: func(f *file) { field(f, "Step", "room").Name = proto.String("space") }, breaking: "field Step.room, number 38, is now called space"},
	"field renumbered": {change: func(f *file) { field(f, "Step", "room").Number = proto.Int32(40) }, breaking: "field Step.room had number 38 and has 40"},
	"fields swapped": {change: func(f *file) {
		field(f, "Step", "t").Number, field(f, "Step", "s").Number = proto.Int32(10), proto.Int32(9)
	}, breaking: "field Step.t had number 9 and has 10"},
	"type": {change: func(f *file) {
		field(f, "Decision", "acted_as").Type = descriptorpb.FieldDescriptorProto_TYPE_SINT32.Enum()
	}, breaking: "field Decision.acted_as was int32 and is sint32"},
	"type of a message": {change: func(f *file) { field(f, "StartReply", "needs").TypeName = proto.String(".mdmhost.v1.Step") },
		breaking: "field StartReply.needs was mdmhost.v1.Needs and is mdmhost.v1.Step"},
	"type of a map": {change: func(f *file) {
		message(f, "Decision").NestedType[0].Field[1].Type = descriptorpb.FieldDescriptorProto_TYPE_FLOAT.Enum()
	}, breaking: "field Decision.metrics was a map from string to double and is a map from string to float"},
	"cardinality": {change: func(f *file) {
		field(f, "PlanReply", "decisions").Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
	}, breaking: "field PlanReply.decisions was repeated mdmhost.v1.Decision and is mdmhost.v1.Decision"},
	"presence": {change: func(f *file) {
		m, d := message(f, "Decision"), field(f, "Decision", "done")
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_done")})
		d.Proto3Optional, d.OneofIndex = proto.Bool(true), proto.Int32(0)
	}, breaking: "field Decision.done was bool and is optional bool"},
	"oneof": {change: func(f *file) {
		m, d := message(f, "Decision"), field(f, "Decision", "done")
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("end")})
		d.OneofIndex = proto.Int32(0)
	}, breaking: "field Decision.done was bool and is bool in the oneof end"},
	"value gone":       {change: func(f *file) { f.EnumType[1].Value = f.EnumType[1].Value[:2] }, breaking: "enum value FILL_DRAW, 2, is gone"},
	"value renamed":    {change: func(f *file) { rename(f, "FILL_DRAW", "FILL_LUCK") }, breaking: "enum value FILL_DRAW, 2, is now called FILL_LUCK"},
	"value renumbered": {change: func(f *file) { f.EnumType[1].Value[2].Number = proto.Int32(3) }, breaking: "enum value FILL_DRAW was 2 and is 3"},
	"service gone":     {change: func(f *file) { f.Service = f.Service[1:] }, breaking: "service Planner is gone"},
	"method renamed": {change: func(f *file) { method(f, 0, "Plan").Name = proto.String("Decide") },
		breaking: "method Planner.Plan is gone", added: "method Planner.Decide"},
	"streaming": {change: func(f *file) { method(f, 0, "Plan").ServerStreaming = proto.Bool(true) },
		breaking: "method Planner.Plan was mdmhost.v1.PlanRequest -> mdmhost.v1.PlanReply and is mdmhost.v1.PlanRequest -> stream mdmhost.v1.PlanReply"},
	"request": {change: func(f *file) { method(f, 0, "Plan").InputType = proto.String(".mdmhost.v1.Step") },
		breaking: "method Planner.Plan was mdmhost.v1.PlanRequest -> mdmhost.v1.PlanReply and is mdmhost.v1.Step -> mdmhost.v1.PlanReply"},
	"new field": {change: func(f *file) { add(f, "Decision", "pause", 15) }, added: "field Decision.pause, number 15, bool"},
	"new message": {change: func(f *file) {
		f.MessageType = append(f.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("Pause")})
	}, added: "message Pause"},
	"new value": {change: func(f *file) {
		f.EnumType[1].Value = append(f.EnumType[1].Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String("FILL_LUCK"), Number: proto.Int32(3)})
	}, added: "enum value FILL_LUCK, 3"},
	"new method": {change: func(f *file) {
		m := proto.CloneOf(method(f, 0, "End"))
		m.Name = proto.String("Pause")
		f.Service[0].Method = append(f.Service[0].Method, m)
	}, added: "method Planner.Pause"},
	"new service": {change: func(f *file) {
		f.Service = append(f.Service, &descriptorpb.ServiceDescriptorProto{Name: proto.String("Judge")})
	}, added: "service Judge"},
	"reserved number": {change: func(f *file) { add(f, "Error", "stack", 9) }, breaking: "field Error.stack, number 9, takes a number or a name that is reserved"},
	"reserve gone":    {change: func(f *file) { message(f, "Error").ReservedRange = nil }, breaking: "message Error no longer reserves the numbers 9 to 9"},
}

func add(f *file, in, name string, number int32) {
	m := message(f, in)
	m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(number),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()})
	m.ReservedRange = nil
}

func TestCompare(t *testing.T) {
	base := protodesc.ToFileDescriptorProto(pb.File_mdmhost_v1_plugin_proto)
	message(base, "Error").ReservedRange = []*descriptorpb.DescriptorProto_ReservedRange{{Start: proto.Int32(9), End: proto.Int32(10)}}
	old := must(protodesc.NewFile(base, nil))
	for name, c := range mutants {
		t.Run(name, func(t *testing.T) {
			f := proto.CloneOf(base)
			c.change(f)
			now, err := protodesc.NewFile(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := compat.Compare(old, now)
			check := func(what, want string, got []string) {
				if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want) {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
			check("breaking", c.breaking, got.Breaking)
			check("added", c.added, got.Added)
		})
	}
}

// TestFromOneSideOnly: whatever one state has more than the other is told as added one way and as broken the other way.
func TestFromOneSideOnly(t *testing.T) {
	base := protodesc.ToFileDescriptorProto(pb.File_mdmhost_v1_plugin_proto)
	less := proto.CloneOf(base)
	message(less, "Decision").Field = message(less, "Decision").Field[:3]
	message(less, "Decision").NestedType = nil
	less.Service = less.Service[:2]
	small, large := must(protodesc.NewFile(less, nil)), must(protodesc.NewFile(base, nil))
	up, down := compat.Compare(small, large), compat.Compare(large, small)
	if len(up.Breaking) > 0 || len(down.Added) > 0 {
		t.Errorf("broken by adding: %q, added by taking away: %q", up.Breaking, down.Added)
	}
	if diff := cmp.Diff(len(up.Added), len(down.Breaking)); diff != "" {
		t.Errorf("added %q, broken %q", up.Added, down.Breaking)
	}
}
