package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// head runs the runtime's own benchmarks of the statistics head against the bare forward pass, and passes their figures
// on.
func (b bench) head(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./runtimes/onnx", "-run", "^$", "-bench", "Head", "-benchtime", "25x")
	cmd.Env = append(os.Environ(), "MDMHOST_BENCH_MODEL="+b.model)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var rest strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "ratio ") {
			fmt.Println(lines.Text())
		} else {
			fmt.Fprintln(&rest, lines.Text())
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return fmt.Errorf("%w:\n%s", err, rest.String())
	}
	return nil
}
