package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/importer"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

func newImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import DIR OUT",
		Short: "Make a model directory of a masked language model of Hugging Face's",
		Long: "Read a model as it was downloaded from the Hugging Face Hub, or saved by transformers, and write a model directory that samples, trains and\n" +
			"exports. DIR holds config.json, the weights (model.safetensors, its shards with their index, or pytorch_model.bin) and tokenizer.json.\n" +
			"Python is not needed, and nothing in DIR is executed. Weights keep their precision and are written once; the ONNX file refers to them.\n" +
			"Every key of config.json and every tensor is used, known to mean nothing, or an error. OUT is written whole or not at all.\n" +
			"An export to PyTorch or transformers that was trained there comes back by this command, too (mdm-transformer).\n\n" +
			"Families: " + strings.Join(family.Names(), ", ") + ".",
		Example: "  mdmhost import ./ModernBERT-base ./modernbert\n  mdmhost import --tokenizer tokenizer.json ./bert_pretrained ./mine\n  mdmhost import ./sudoku-pytorch/trained ./sudoku\n  mdmhost sample --model ./modernbert --infill 'The capital of France is [MASK].'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s: expected the model's directory and a directory to write, found %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	tokenizer, asJSON := c.Flags().String("tokenizer", "", "a `FILE` that is tokenizer.json, instead of the one in DIR"), asJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		o := importer.Options{Tokenizer: *tokenizer, Version: thisVersion().Version}
		if to := screen(); to.Terminal {
			o.Progress = to.Err
		}
		s, err := importer.Import(c.Context(), args[0], args[1], o)
		if err != nil {
			return err
		}
		for _, note := range s.Notes {
			fmt.Fprintf(c.ErrOrStderr(), "%s\n", note)
		}
		if *asJSON {
			return printJSON(c, s)
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
		fmt.Fprintf(w, "model\t%s, from %s\n", s.Dir, s.ModelType)
		fmt.Fprintf(w, "parameters\t%d, %s, %d bytes\n", s.Parameters, s.Precision, s.Bytes)
		fmt.Fprintf(w, "took\t%.2f s, at most %.0f MiB of memory\n", s.Seconds, float64(s.PeakMemory)/(1<<20))
		fmt.Fprintf(w, "digest\t%s\n", s.Digest)
		return w.Flush()
	}
	return c
}
