package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fromFolder takes wheels that are there; all must be.
func fromFolder(_ context.Context, wanted release, o Options) (source, error) {
	var missing []string
	for _, w := range wanted.wheels {
		if info, err := os.Stat(filepath.Join(o.From, w.file)); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, w.file)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks %s; put these wheels there, or leave --from out to fetch them", o.From, strings.Join(missing, ", "))
	}
	if err := room(o.Dir, wanted.installed()); err != nil {
		return nil, err
	}
	return func(ctx context.Context, w wheel, _ string, use func(string) error) error {
		path := filepath.Join(o.From, w.file)
		if err := w.check(ctx, path); err != nil {
			return err
		}
		return use(path)
	}, nil
}
