package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// setUp runs the plugin's own setup in its folder, with the user's environment and what it prints on log. The files that belong
// to the plugin must be the same afterwards; those that it makes besides are its own.
func (p *Plugin) setUp(ctx context.Context, log io.Writer) error {
	if p.Manifest.Setup == "" {
		return nil
	}
	object := fmt.Sprintf("%s %s", p.Manifest.Kind, p.Name)
	program, err := filepath.Abs(filepath.Join(p.Path, filepath.FromSlash(p.Manifest.Setup)))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(log, "%s: running its %s\n", object, p.Manifest.Setup); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Path, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second // for what it started and left behind
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: its %s failed, nothing was installed: %w; what it printed says why", object, p.Manifest.Setup, errors.Join(ctx.Err(), err))
	}
	if _, err := p.Verify(); err != nil {
		return fmt.Errorf("%s: its %s changed files that belong to the plugin, nothing was installed: %w", object, p.Manifest.Setup, err)
	}
	return nil
}
