// Command golden writes the descriptor of the protocol that this program was built with over the one in a file, if it only adds to
// it. A change that breaks plugins in use is refused: it needs a new version of the protocol.
//
//	go run ./plugins/proto/compat/golden plugins/proto/testdata/v1.binpb
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/wholefile"
	"github.com/mdmhost/mdmhost/plugins/proto/compat"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: golden FILE")
		os.Exit(2)
	}
	if err := update(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

func update(path string) error {
	now := pb.File_mdmhost_v1_plugin_proto
	old, err := compat.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != nil {
		if broken := compat.Compare(old, now).Breaking; len(broken) > 0 {
			return fmt.Errorf("%s: plugins in use would break: %s; take the change back, or begin a version 2 as plugins/proto/README.md says", path, strings.Join(broken, "; "))
		}
	}
	raw, err := compat.Encode(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return wholefile.ReplaceBytes(path, raw)
}
