package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/runtimes/install"
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
			all = append(all, runtimeKind{kind, config.Providers(kind)})
		}
		if *asJSON {
			return printJSON(c, all)
		}
		for _, r := range all {
			line := r.Kind
			if len(r.Providers) > 0 {
				line += "  providers " + strings.Join(r.Providers, ", ")
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), line); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func newRuntimeCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Show libraries, versions and providers, and why others cannot be had",
		Long:    "Show libraries, versions and providers, and why others cannot be had. The command fails where nothing can run, or where the\nprovider that the configuration asks for cannot. With runtime openinference it asks the servers for the model, with\nopenvino OpenVINO for its devices, with replay the recording for what it can answer.",
		Example: "  mdmhost runtime check\n  mdmhost runtime check --runtime cuda --json",
		Args:    noArgs,
	}
	s, asJSON := newSettings(c, "runtime", "model"), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		switch cfg.Runtime.Kind {
		case config.KindOpenInference:
			return checkServers(c, cfg, *asJSON)
		case config.KindOpenVINO:
			return checkOpenVINO(c, cfg, *asJSON)
		case config.KindReplay:
			return checkRecording(c, cfg, *asJSON)
		}
		r := onnx.Check(onnx.Options{Library: cfg.Runtime.Library, Provider: cfg.Runtime.Provider, LibraryDirs: cfg.Runtime.LibraryDirs, Device: cfg.Runtime.Device[0],
			ProviderLibrary: cfg.Runtime.ProviderLibrary})
		if *asJSON {
			err = printJSON(c, r)
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), r)
		}
		switch {
		case err != nil:
			return err
		case r.Problem != "":
			return errors.New(r.Problem)
		case r.Missing[cfg.Runtime.Provider] != "":
			return fmt.Errorf("runtime %s: %s; use --runtime cpu, or auto to take what there is", cfg.Runtime.Provider, r.Missing[cfg.Runtime.Provider])
		}
		return nil
	}
	return c
}

func newRuntimeInstall() *cobra.Command {
	c := &cobra.Command{
		Use: "install [VARIANT]", Short: "Fetch the libraries of a runtime for those who only have this binary",
		Long: "Fetch libraries with pip, check them against pinned checksums, and put them where mdmhost looks for them. VARIANT is\n" +
			"cpu (ONNX Runtime " + install.ONNXRuntimeVersion + ", the default), cuda (the same for NVIDIA GPUs, with the nvidia libraries: 1.6 GB to fetch, 2.5 GB on\n" +
			"the disk) or openvino (OpenVINO " + install.OpenVINOVersion + "). The folder appears whole or not at all; an interrupted installation begins again with\n" +
			"the packages that pip has kept.",
		Example:   "  mdmhost runtime install\n  mdmhost runtime install cuda\n  mdmhost runtime install cuda --torch .venv/lib/python3.12/site-packages\n  mdmhost runtime install cuda --from wheels --dir /opt/ort-cuda",
		ValidArgs: install.Variants(),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(install.Variants(), args[0]) {
				return usagef("%s takes at most one of %s, found %q", c.CommandPath(), strings.Join(install.Variants(), ", "), strings.Join(args, " "))
			}
			return nil
		},
	}
	var o install.Options
	c.Flags().StringVar(&o.Dir, "dir", "", "folder for the libraries (empty: the user's cache, where they are found without being named)")
	c.Flags().StringVar(&o.From, "from", "", "folder with the wheels, for machines without a network")
	c.Flags().StringVar(&o.Torch, "torch", "", "folder site-packages of a PyTorch for CUDA 13, whose nvidia libraries are used in place of fetched ones")
	c.RunE = func(c *cobra.Command, args []string) error {
		variant := install.CPU
		if len(args) > 0 {
			variant = args[0]
		}
		o.Progress = c.ErrOrStderr()
		path, err := install.Install(c.Context(), variant, o)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), path)
		return err
	}
	return c
}
