package exporters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// RecordName is the file of an export that says what it is.
const RecordName = "export.json"

// recordFormat is what this program writes and reads.
const recordFormat = 1

// Record is export.json.
type Record struct {
	Format   int          `json:"format"`  // 1
	Version  string       `json:"mdmhost"` // of the program that wrote it
	Target   string       `json:"target"`
	Options  Options      `json:"options"`
	Source   Origin       `json:"source"`
	Verified *Verified    `json:"verified"`
	Files    []model.File `json:"files"` // all others of the export, by name
}

// Origin is the model that was exported.
type Origin struct {
	Name    string         `json:"name"`
	Digest  string         `json:"digest"`            // as in `mdmhost model show`
	Trainer *model.Trainer `json:"trainer,omitempty"` // as in mdm.json
	Files   []model.File   `json:"files"`
}

// Verified is what the stack answered, or why it was not asked.
type Verified struct {
	*Verdict
	Reason string `json:"reason,omitempty"` // of there being no verdict
}

// record describes the export in dir.
func record(s *Source, info Info, o Options, verified *Verified, dir string) (*Record, error) {
	files, err := Hash(dir)
	if err != nil {
		return nil, err
	}
	return &Record{recordFormat, o.Version, info.Name, o, Origin{s.Name, s.Digest, s.Model.Manifest.Trainer, s.Digests}, verified, files}, nil
}

func (r *Record) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.ReplaceBytes(filepath.Join(dir, RecordName), append(text, '\n'))
}

// Hash lists the files below dir but export.json, by their slash-separated paths.
func Hash(dir string) (out []model.File, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == RecordName {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		h := sha256.New()
		n, err := io.Copy(h, f)
		out = append(out, model.File{Name: filepath.ToSlash(name), Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))})
		return err
	})
	return out, err
}

// stoppable lets a content end when ctx does.
func stoppable(ctx context.Context, write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		err := write(&stopping{w, ctx})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
}

type stopping struct {
	io.Writer
	ctx context.Context
}

func (s *stopping) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Writer.Write(p)
}
