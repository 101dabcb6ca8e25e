package compat

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Read reads a FileDescriptorSet of one file that imports nothing, such as testdata/v1.binpb.
func Read(path string) (protoreflect.FileDescriptor, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("%s: expected a FileDescriptorSet: %w", path, err)
	}
	if len(set.File) != 1 {
		return nil, fmt.Errorf("%s: %d files, expected one that imports nothing", path, len(set.File))
	}
	fd, err := protodesc.NewFile(set.File[0], nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fd, nil
}

// Encode is what [Read] reads, the same bytes for the same descriptor.
func Encode(fd protoreflect.FileDescriptor) ([]byte, error) {
	file := protodesc.ToFileDescriptorProto(fd)
	file.SourceCodeInfo = nil
	return proto.MarshalOptions{Deterministic: true}.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
}
