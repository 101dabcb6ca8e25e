package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// profile is where the time of a step with kernels goes, by ONNX Runtime's own clock, in milliseconds.
type profile struct {
	total    float64
	products float64 // of matrix products: what is left of a step if everything else were free
	rows     []profileRow
	places   map[string]int // nodes by the provider that ran them
	onCPU    map[string]int // nodes by their operator that the CPU ran
}

type profileRow struct {
	operator string
	nodes    int
	ms       float64
}

// profiledSteps are the steps of a profile; the first does not count.
const profiledSteps = 6

// profileSteps takes a few steps of a form in a process that writes a profile.
func profileSteps(ctx context.Context, dir string, threads int, form string) (*profile, error) {
	prefix := filepath.Join(dir, fmt.Sprintf("profile-%s-t%d", form, threads))
	p, err := startStepper(ctx, dir, threads, form, prefix)
	if err != nil {
		return nil, err
	}
	r := runner{process: p}
	for range profiledSteps {
		if _, err = r.step(); err != nil {
			break
		}
	}
	if err := errors.Join(err, p.close()); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(prefix + "*.json")
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("profile: %d files %s*.json, expected one", len(files), prefix)
	}
	return readProfile(files[0])
}

// readProfile adds up the medians of every node's times.
func readProfile(path string) (*profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var events []struct {
		Cat, Name string
		Dur       float64 // microseconds
		Args      struct {
			Operator string `json:"op_name"`
			Provider string `json:"provider"`
		}
	}
	if err := json.Unmarshal(text, &events); err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	times, operator, provider := map[string][]float64{}, map[string]string{}, map[string]string{}
	for _, e := range events {
		if e.Cat == "Node" && strings.HasSuffix(e.Name, "_kernel_time") {
			times[e.Name], operator[e.Name] = append(times[e.Name], e.Dur/1e3), e.Args.Operator
			provider[e.Name] = e.Args.Provider
		}
	}
	p, rows := &profile{places: map[string]int{}, onCPU: map[string]int{}}, map[string]*profileRow{}
	for name, ms := range times {
		of := operator[name]
		if p.places[provider[name]]++; provider[name] == "CPUExecutionProvider" {
			p.onCPU[of]++
		}
		if rows[of] == nil {
			rows[of] = &profileRow{operator: of}
		}
		m := median(ms[min(1, len(ms)-1):])
		rows[of].nodes, rows[of].ms, p.total = rows[of].nodes+1, rows[of].ms+m, p.total+m
		if slices.Contains([]string{"Gemm", "MatMul", "FusedMatMul", "FusedGemm"}, of) {
			p.products += m
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		p.rows = append(p.rows, *rows[name])
	}
	slices.SortStableFunc(p.rows, func(a, b profileRow) int { return cmp.Compare(b.ms, a.ms) })
	return p, nil
}

// print writes a table of the operators that take a thousandth of the time or more.
func (p *profile) print(w io.Writer) {
	for _, r := range p.rows {
		if r.ms >= p.total/1000 {
			fmt.Fprintf(w, "#   %-24s %4d nodes %8.2f ms %5.1f %%\n", r.operator, r.nodes, r.ms, 100*r.ms/p.total)
		}
	}
}
