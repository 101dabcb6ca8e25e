package compat_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/plugins/proto/compat"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

const golden = "../testdata/v1.binpb"

// TestVersion1StaysVersion1 compares the protocol that this program speaks with the one that plugins in use were built with.
func TestVersion1StaysVersion1(t *testing.T) {
	old, err := compat.Read(golden)
	if err != nil {
		t.Fatal(err)
	}
	changes := compat.Compare(old, pb.File_mdmhost_v1_plugin_proto)
	if len(changes.Breaking) > 0 {
		t.Errorf("plugins that were built with protocol version 1 would break:\n  %s\nTake the change back, or begin a version 2 as plugins/proto/README.md says.",
			strings.Join(changes.Breaking, "\n  "))
	}
	if len(changes.Added) > 0 {
		t.Errorf("additive: write the golden anew by ./dev generate, and commit it:\n  %s", strings.Join(changes.Added, "\n  "))
	}
	// What is left are names of JSON, options and the order of things: harmless, and written anew as well.
	want, err := compat.Encode(pb.File_mdmhost_v1_plugin_proto)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !t.Failed() && !bytes.Equal(got, want) {
		t.Errorf("%s is not of this protocol; write it anew by ./dev generate", golden)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.binpb")
	for content, want := range map[string]string{"": "0 files, expected one", "\xff": "expected a FileDescriptorSet", "\x0a\x02\x12\x01": "expected a FileDescriptorSet"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := compat.Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
}
