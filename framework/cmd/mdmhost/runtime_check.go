package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
	"github.com/mdmhost/mdmhost/runtimes/replay"
)

// checkOpenVINO shows the library and its devices.
func checkOpenVINO(c *cobra.Command, cfg *config.Config, asJSON bool) error {
	r := openvino.Check(backend.OpenVINO(cfg.Runtime))
	if err := printReport(c, r, asJSON); err != nil {
		return err
	}
	if r.Problem != "" {
		return errors.New(r.Problem)
	}
	return nil
}

// recorded is what a recording holds, for those who want to replay it.
type recorded struct {
	Recording string   `json:"recording"`
	Model     string   `json:"model"`
	Planner   string   `json:"planner"`
	Seed      uint64   `json:"seed"`
	Rows      int      `json:"rows"`
	Steps     int      `json:"steps"`
	Needs     []string `json:"needs"`
}

// String lays it out for people, one fact a line.
func (r recorded) String() string {
	return fmt.Sprintf("%-14s%s\n%-14s%s\n%-14s%s\n%-14s%d\n%-14s%d, %d questions to the planner\n%-14s%v\n",
		"recording", r.Recording, "model", r.Model, "planner", r.Planner, "seed", r.Seed, "rows", r.Rows, r.Steps, "serves", r.Needs)
}

// checkRecording shows what a recording can answer.
func checkRecording(c *cobra.Command, cfg *config.Config, asJSON bool) error {
	r, err := replay.Read(cfg.Runtime.Recording)
	if err != nil {
		return err
	}
	out := recorded{Recording: cfg.Runtime.Recording, Model: r.Header.Model, Planner: r.Planner, Seed: r.Header.Seed, Rows: len(r.Rows), Needs: r.Runs[0].Needs.List()}
	for _, run := range r.Runs {
		out.Steps += len(run.Steps)
	}
	return printReport(c, out, asJSON)
}

func printReport(c *cobra.Command, r fmt.Stringer, asJSON bool) error {
	if asJSON {
		return printJSON(c, r)
	}
	_, err := fmt.Fprint(c.OutOrStdout(), r)
	return err
}
