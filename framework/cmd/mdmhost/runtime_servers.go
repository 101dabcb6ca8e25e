package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/openinference"
)

// checkServers prints what every endpoint of the configuration says of the model. The error is the first that cannot be used.
func checkServers(c *cobra.Command, cfg *config.Config, asJSON bool) error {
	m, err := model.Open(cfg.Model)
	if err != nil {
		return err
	}
	source, options := backend.OpenInference(cfg.Runtime, m)
	reports, err := openinference.Check(c.Context(), source, options)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(c, reports)
	} else {
		err = printServers(c, reports)
	}
	for _, r := range reports {
		if err == nil && r.Problem != "" {
			err = fmt.Errorf("endpoint %s, model %s: %s", r.Endpoint, r.Model, r.Problem)
		}
	}
	return err
}

// printServers prints a line for each endpoint and one for each of its model's inputs and outputs.
func printServers(c *cobra.Command, reports []openinference.Report) (err error) {
	line := func(format string, args ...any) {
		_, failed := fmt.Fprintf(c.OutOrStdout(), format+"\n", args...)
		err = errors.Join(err, failed)
	}
	for _, r := range reports {
		if r.Problem != "" {
			line("%s  model %s: not usable: %s", r.Endpoint, r.Model, r.Problem)
			continue
		}
		batch := "any number of rows"
		if r.MaxBatch > 0 {
			batch = fmt.Sprintf("at most %d rows", r.MaxBatch)
		}
		line("%s  model %s: ready, %s a request", r.Endpoint, r.Model, batch)
		line("  inputs   %s", strings.Join(r.Inputs, ", "))
		line("  outputs  %s", strings.Join(r.Outputs, ", "))
	}
	return err
}
