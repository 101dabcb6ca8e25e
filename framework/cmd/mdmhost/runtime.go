package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func newRuntime() *cobra.Command {
	return group("runtime", "Show, check and install what models run on", newRuntimeList(), newRuntimeCheck(), newRuntimeInstall())
}

// kinds of runtimes are those that the configuration takes.
type runtimeKind struct {
	Kind      string   `json:"kind"`
	Providers []string `json:"providers"`
}

func newRuntimeList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the runtimes and their providers", Example: "  mdmhost runtime list --json", Args: noArgs}
	s, asJSON := newSettings(c), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := s.load(); err != nil {
			return err
		}
		var all []runtimeKind
		for _, kind := range config.Lookup("runtime.kind").Enum {
			all = append(all, runtimeKind{kind, config.Lookup("runtime.provider").Enum})
		}
		if *asJSON {
			return printJSON(c, all)
		}
		for _, r := range all {
			if _, err := fmt.Fprintf(c.OutOrStdout(), "%s  providers %s\n", r.Kind, strings.Join(r.Providers, ", ")); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func newRuntimeCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Show libraries, versions and providers, and why CUDA is absent",
		Long:    "Show libraries, versions and providers, and why CUDA is absent. The command fails where nothing can run, or where the\nprovider that the configuration asks for cannot.",
		Example: "  mdmhost runtime check\n  mdmhost runtime check --runtime cuda --json",
		Args:    noArgs,
	}
	s, asJSON := newSettings(c, "runtime"), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		r := onnx.Check(onnx.Options{Library: cfg.Runtime.Library, LibraryDirs: cfg.Runtime.LibraryDirs, Device: cfg.Runtime.Device})
		if *asJSON {
			err = printReport(c, r)
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), r)
		}
		switch {
		case err != nil:
			return err
		case r.Problem != "":
			return errors.New(r.Problem)
		case cfg.Runtime.Provider == "cuda" && !r.CUDA:
			return fmt.Errorf("runtime cuda: %s; use --runtime cpu, or auto to take what there is", r.CUDAMissing)
		}
		return nil
	}
	return c
}

// printReport prints the report in JSON with the names that other lists use.
func printReport(c *cobra.Command, r onnx.Report) error {
	text, err := json.Marshal(struct {
		Library      string   `json:"library"`
		Version      string   `json:"version"`
		API          int      `json:"api"`
		Providers    []string `json:"providers"`
		CUDA         bool     `json:"cuda"`
		CUDAMissing  string   `json:"cuda_missing,omitempty"`
		Nvidia       []string `json:"nvidia,omitempty"`
		Instructions string   `json:"instructions"`
		Problem      string   `json:"problem,omitempty"`
	}(r))
	if err != nil {
		return err
	}
	return printJSON(c, json.RawMessage(text))
}

func newRuntimeInstall() *cobra.Command {
	c := &cobra.Command{
		Use: "install", Short: "Fetch the ONNX Runtime library for those who only have this binary",
		Long:    "Fetch ONNX Runtime " + onnx.Version + " with pip, check it against its pinned checksum, and put it where mdmhost looks for it.",
		Example: "  mdmhost runtime install\n  mdmhost runtime install --dir /opt/ort",
		Args:    noArgs,
	}
	dir := c.Flags().String("dir", "", "folder for the library (empty: the user's cache, where it is found without being named)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		path, err := onnx.Install(c.Context(), *dir, "cpu", c.ErrOrStderr())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), path)
		return err
	}
	return c
}
