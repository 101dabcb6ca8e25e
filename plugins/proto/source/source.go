// Package source is the text of the plugin protocol: its descriptor with the comments of plugin.proto, which the generated code has
// only as Go comments. The kits do not need it; the reference of the protocol is written from it.
package source

import (
	_ "embed"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed plugin.binpb
var raw []byte

// Protocol returns the descriptor of mdmhost/v1/plugin.proto. Its SourceLocations hold the comments.
func Protocol() (protoreflect.FileDescriptor, error) {
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("protocol descriptor: %w; write it anew with plugins/proto/generate.sh", err)
	}
	return protodesc.NewFile(&file, nil)
}
