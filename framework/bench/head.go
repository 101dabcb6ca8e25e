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
// on. What they say beyond name, value and target becomes a remark.
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
		words := strings.Fields(lines.Text())
		if len(words) < 3 || words[0] != "ratio" {
			fmt.Fprintln(&rest, lines.Text())
			continue
		}
		n := 3
		if len(words) > 4 && words[3] == "target" {
			n = 5
		}
		fmt.Println(strings.Join(words[:n], " "))
		if len(words) > n {
			fmt.Println("#", words[1]+":", strings.Join(words[n:], " "))
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return fmt.Errorf("%w:\n%s", err, rest.String())
	}
	return nil
}
