package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// start measures the time from starting mdmhost with no model named to its first committed token, with warm caches.
func (b bench) start(ctx context.Context) error {
	ms, err := interleave(b.budget, 5, 15, subject{b.binary, func() (float64, error) { return b.firstToken(ctx) }})
	if err != nil {
		return err
	}
	fmt.Printf("# first token: %d starts\n", len(ms[0]))
	return report(os.Stdout, "first_token_s", median(ms[0])/1e3, "<=0.4")
}

// firstToken starts a run and returns the milliseconds until its live canvas, which is one line per change where there is
// no terminal, shows the first step.
func (b bench) firstToken(ctx context.Context) (float64, error) {
	cmd := exec.CommandContext(ctx, b.binary, "sample", "--watch", "--seed", "1")
	screen, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ms, lines := 0.0, bufio.NewScanner(screen)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if ms == 0 && strings.HasPrefix(lines.Text(), "row ") {
			ms = time.Since(began).Seconds() * 1e3
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.Join(said, "\n"))
	}
	if ms == 0 {
		return 0, fmt.Errorf("no canvas among its lines: %s", strings.Join(said, "\n"))
	}
	return ms, nil
}
