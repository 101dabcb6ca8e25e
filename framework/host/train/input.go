package train

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// SumsFile lists the digests of the data that a run was begun with, in a run directory: `sha256sum -c` reads it.
const SumsFile = "data.sha256"

// openData reads the data of the run, and holds its files against those that the run was begun with. from is the model that it
// begins with, or nil.
func (s *session) openData(ctx context.Context, from *model.Model) error {
	o, err := dataOptions(s.cfg, from)
	if err != nil {
		return err
	}
	if s.data, err = data.Open(ctx, s.cfg.Data, o); err != nil {
		return settingProblems(s.cfg, err)
	}
	if s.begun {
		return s.sameData()
	}
	return nil
}

// dataOptions let data fit a model: its tokenizer makes the rows, and no position that is learned may hold its mask or padding.
// Nor may it hold a token that ends the rows of an insertion model. m may be nil.
func dataOptions(cfg *config.Config, m *model.Model) (data.Options, error) {
	o := data.Options{Given: cfg.Given, Ends: m == nil && cfg.Network.Gaps != "" || m != nil && m.Insertion()}
	if m == nil {
		return o, nil
	}
	tokens, err := tokenizerOf(m)
	o.Tokenizer, o.Refused = tokens, map[int32]string{m.Config.Pad: "padding", m.MaskID: "mask"}
	return o, err
}

// sameData names the files that are not as they were.
func (s *session) sameData() error {
	run := s.cfg.Train.Run
	path := filepath.Join(run, SumsFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("run %s: %w; restore it, or name another run directory", run, err)
	}
	was, is := sumsByName(string(text)), sumsByName(s.sums())
	both := maps.Clone(was)
	maps.Copy(both, is)
	maps.DeleteFunc(both, func(name, _ string) bool { return was[name] == is[name] })
	if len(both) > 0 {
		return fmt.Errorf("run %s: %s changed since the run was begun; restore it, or name another run directory", run, strings.Join(slices.Sorted(maps.Keys(both)), ", "))
	}
	return nil
}

func (s *session) writeSums() error {
	return writeFile(filepath.Join(s.cfg.Train.Run, SumsFile), []byte(s.sums()))
}

// sums is the text of [SumsFile].
func (s *session) sums() string {
	var b strings.Builder
	for _, f := range s.data.Files() {
		fmt.Fprintf(&b, "%s  %s\n", f.SHA256, f.Name)
	}
	return b.String()
}

func sumsByName(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			out[name] = sum
		}
	}
	return out
}
