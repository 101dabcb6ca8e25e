package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mdmhost/mdmhost/plugins/proto/compat"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// TestUpdate writes the descriptor where there is none or a smaller one, and leaves one that it would break as it is.
func TestUpdate(t *testing.T) {
	now, err := compat.Encode(pb.File_mdmhost_v1_plugin_proto)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*descriptorpb.FileDescriptorProto)) []byte {
		var set descriptorpb.FileDescriptorSet
		if err := proto.Unmarshal(now, &set); err != nil {
			t.Fatal(err)
		}
		change(set.File[0])
		raw, err := proto.Marshal(&set)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	larger := changed(func(f *descriptorpb.FileDescriptorProto) {
		f.MessageType = append(f.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("Pause")})
	})
	path := filepath.Join(t.TempDir(), "testdata", "v1.binpb")
	for _, c := range []struct {
		name       string
		old, after []byte
		refused    string
	}{
		{name: "none", after: now},
		{name: "the same", old: now, after: now},
		{name: "smaller", old: changed(func(f *descriptorpb.FileDescriptorProto) { f.Service = f.Service[:1] }), after: now},
		{name: "larger", old: larger, after: larger, refused: "plugins in use would break: message Pause is gone; take the change back"},
		{name: "damaged", old: []byte("?"), after: []byte("?"), refused: "expected a FileDescriptorSet"},
	} {
		if c.old != nil {
			if err := os.WriteFile(path, c.old, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := update(path)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.refused)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, c.after) {
			t.Errorf("%s: %v, the file is not what it should be", c.name, err)
		}
	}
}
