package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/training/ortartifact"
)

func newArtifacts() *cobra.Command {
	c := &cobra.Command{
		Use:   "artifacts",
		Short: "Make training artifacts of a model: plain ONNX graphs of gradient steps",
		Long: "Make training artifacts of a model, anybody's exported ONNX denoiser included: forward, loss, backward and update as plain ONNX\n" +
			"graphs, with the initial parameters. `mdmhost train --from MODEL` makes and runs them by itself; this command is for those\n" +
			"who run the graphs elsewhere, or want to look at them.",
		Example: `  mdmhost artifacts --from ./my-bert --length 64 --batch 16 --out artifacts
  mdmhost artifacts --from ./my-bert --trainer papl --length 64 --out artifacts
  mdmhost artifacts show artifacts/training_model.onnx`,
		Args: noArgs,
	}
	s := newSettings(c, "from=train.from", "trainer=trainer.name", "length=data.length", "batch=train.batch", "seed")
	out := c.Flags().String("out", "", "`DIR` for the artifacts")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *out == "" {
			return usagef("--out: expected the directory for the artifacts")
		}
		cfg, err := s.load()
		if err != nil {
			return err
		}
		return train.Artifacts(c.Context(), cfg, options(cfg), *out, c.OutOrStdout())
	}
	c.AddCommand(newArtifactsShow(), newArtifactsAdapt())
	return c
}

func newArtifactsAdapt() *cobra.Command {
	c := &cobra.Command{
		Use: "adapt DIR", Short: "Make artifacts of ONNX Runtime's own generator run without its training build",
		Long: "Make artifacts that onnxruntime.training.artifacts.generate_artifacts wrote (onnxruntime-training up to 1.19.2) run in the ONNX Runtime\n" +
			"that everybody has: gradient operators become functions of plain ones inside the files, and the checkpoint becomes safetensors.\n" +
			"The optimizer model is left out; the gradients are outputs, X_grad.accumulation.out.",
		Example: "  mdmhost artifacts adapt ./ort-artifacts --out adapted", Args: oneArg("folder with training_model.onnx and checkpoint"),
	}
	out := c.Flags().String("out", "", "`DIR` for the adapted files")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *out == "" {
			return usagef("--out: expected the directory for the adapted files")
		}
		layout, paths, err := ortartifact.Convert(args[0], *out)
		if err != nil {
			return err
		}
		w := c.OutOrStdout()
		fmt.Fprintf(w, "batch     %s\nloss      %s\nreset     %s\ntrained   %d parameters\n", strings.Join(layout.Feeds, ", "), layout.Loss, layout.Reset, len(layout.Parameters))
		for _, path := range paths {
			fmt.Fprintf(w, "file      %s\n", path)
		}
		return nil
	}
	return c
}

func newArtifactsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "List the operators of an ONNX file with their shapes", Example: "  mdmhost artifacts show runs/books/artifacts/training_model.onnx",
		Args: oneArg("ONNX file"),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := graph.Open(args[0])
			if err != nil {
				return err
			}
			return graph.Print(c.OutOrStdout(), m)
		},
	}
}
