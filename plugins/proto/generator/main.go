// Command generator writes what is made of a protocol: it compiles the .proto file SOURCE, a path below PROTO_ROOT, runs the two code
// generators whose versions this module pins, and keeps the descriptor with the comments in DESCRIPTOR, if that is given. Paths of what
// it writes are below OUT.
//
//	go run . PROTO_ROOT SOURCE OUT [DESCRIPTOR]
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 4 && len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: generator PROTO_ROOT SOURCE OUT [DESCRIPTOR]")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}

func generate(root, source, out string, commented []string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{root}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), source)
	if err != nil {
		return err
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{source},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
	})
	if err != nil {
		return err
	}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := run(tool, request, out); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	for _, path := range commented {
		if err := describe(files[0], filepath.Join(out, path)); err != nil {
			return err
		}
	}
	return nil
}

// describe writes the descriptor of the file with its comments, byte for byte the same at every run.
func describe(file protoreflect.FileDescriptor, path string) error {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}

// run gives one generator the request and writes the files that it answers.
func run(tool string, request []byte, out string) error {
	cmd := exec.Command("go", "tool", tool)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return err
	}
	var reply pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(raw, &reply); err != nil {
		return err
	}
	if reply.GetError() != "" {
		return fmt.Errorf("%s", reply.GetError())
	}
	for _, f := range reply.File {
		path := filepath.Join(out, f.GetName())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
