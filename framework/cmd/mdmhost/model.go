package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
)

func newModel() *cobra.Command {
	return group("model", "Show and verify models", newModelList(), newModelShow(), newModelVerify())
}

func modelNames() []string { return model.Embedded() }

// listed is a line of `model list`.
type listed struct {
	Name     string `json:"name"`
	Default  bool   `json:"default"`
	Embedded bool   `json:"embedded"`
}

func newModelList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the models in this binary", Args: noArgs,
		Long:    "List the models in this binary. Any other model is a directory: --model ./my-model.",
		Example: "  mdmhost model list --json",
	}
	_, asJSON := newSettings(c), asJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		var all []listed
		for _, name := range model.Embedded() {
			all = append(all, listed{name, name == model.Default, true})
		}
		if *asJSON {
			return printJSON(c, all)
		}
		for _, l := range all {
			note := ""
			if l.Default {
				note = "  (default)"
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), l.Name+note); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func newModelShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show [NAME|DIR]", Short: "Show what a model is: vocabulary, lengths, inputs, digests",
		Example: "  mdmhost model show\n  mdmhost model show ./my-model --json\n  mdmhost model show ./my-model --picture speeds.png",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s: expected at most one model, found %d", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	s, asJSON := newSettings(c, "model"), asJSON(c)
	picture := c.Flags().String("picture", "", "draw the learned speeds of the tokens (trainer genmd4) as a PNG picture into this file")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.given = append(s.given, config.Assignment{Key: "model", Value: args[0], Flag: "model show"})
		}
		cfg, err := s.load()
		if err != nil {
			return err
		}
		if err := findModel(cfg); err != nil {
			return usagef("%s: %w", cfg.Origin("model"), err)
		}
		m, err := model.Open(cfg.Model, model.AnyFamily())
		if err != nil {
			return err
		}
		d, err := m.Describe()
		if err != nil {
			return err
		}
		if *picture != "" {
			if err := drawExponents(*picture, d); err != nil {
				return err
			}
		}
		if *asJSON {
			// The precision "" is model.onnx, which needs no name.
			d.Precisions = slices.DeleteFunc(d.Precisions, func(name string) bool { return name == "" })
			return printJSON(c, d)
		}
		return printModel(c, d)
	}
	return c
}

// findModel tells a model that is not there, which is an error of usage, from one that cannot be read.
func findModel(cfg *config.Config) error { return findNamed(cfg.Model) }

// findNetwork does the same with the planner's own network.
func findNetwork(cfg *config.Config) error { return findNamed(cfg.Planner.Network, model.AsPlanner()) }

func findNamed(name string, o ...model.Option) error {
	if name == "" || slices.Contains(model.Embedded(), name) {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	_, err := model.Open(name, o...)
	return err
}

func printModel(c *cobra.Command, d *model.Description) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	where := d.Dir
	if d.Embedded {
		where = "embedded"
	}
	v := d.Vocabulary
	fmt.Fprintf(w, "model\t%s (%s)\n", d.Name, where)
	fmt.Fprintf(w, "type\t%s, family %s, time %s, schedule %s\n", d.Type, d.Family, d.Time, d.Schedule.Kind)
	fmt.Fprintf(w, "size\t%d parameters in %d nodes, opset %d\n", d.Parameters, d.Nodes, d.Opset)
	fmt.Fprintf(w, "tokens\t%d (%s), logits %d wide, %d never drawn\n", v.Size, v.Tokenizer, v.Logits, len(v.Suppressed))
	fmt.Fprintf(w, "mask\t%s = %d, padding %s = %d\n", v.Mask.Token, v.Mask.ID, v.Pad.Token, v.Pad.ID)
	fmt.Fprintf(w, "around text\t%s ... %s\n", spelt(v.Prefix), spelt(v.Suffix))
	fmt.Fprintf(w, "length\t%s\n", lengths(d))
	if d.Growth != nil {
		printGrowth(w, d.Growth)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Networks)) {
		fmt.Fprintf(w, "network\t%s\n", network(name, d.Networks[name]))
	}
	for _, p := range d.Inputs {
		fmt.Fprintf(w, "input\t%s %s\n", p.Name, p.Type)
	}
	for _, p := range d.Outputs {
		fmt.Fprintf(w, "output\t%s %s\n", p.Name, p.Type)
	}
	printExponents(w, d.Exponents)
	for _, f := range d.Files {
		fmt.Fprintf(w, "file\t%s, %d bytes, sha256 %s\n", f.Name, f.Bytes, f.SHA256)
	}
	fmt.Fprintf(w, "digest\t%s\n", d.Digest)
	return w.Flush()
}

// printGrowth says how the rows of an insertion model grow.
func printGrowth(w io.Writer, g *model.Growth) {
	gaps := "before every position and behind the last (n+1)"
	if g.Gap == "eos" {
		gaps = "before every position, the last of which is the end token (eos)"
	}
	fmt.Fprintf(w, "rows grow\tin gaps %s\n", gaps)
	fmt.Fprintf(w, "clock\tU(t) = -log(1 - t^%g), from t = 0, where nothing is there, to t = 1; rates are per unit of U\n", g.A)
	opening := "every mask is opened with the rate 1"
	if g.UnmaskRates {
		opening = "masks are opened with unmask_rate, learned"
	}
	fmt.Fprintf(w, "rates\tgaps receive masks with insertion_rate, learned; %s\n", opening)
}

// network names a network besides the denoiser and where its parameters are.
func network(name string, n model.Network) string {
	var parts []string
	if n.ONNX != "" {
		parts = append(parts, n.ONNX)
	}
	if n.Parameters != "" {
		parts = append(parts, fmt.Sprintf("tensors %s* of %s", n.Prefix, n.Parameters))
	}
	if name == "order" {
		own := "shares the denoiser's parameters but for its head"
		if n.Config != nil {
			own = "a network of its own"
		}
		parts = append(parts, own+", for further training")
	}
	return name + ": " + strings.Join(parts, ", ")
}

func spelt(tokens []model.Named) string {
	var out []string
	for _, t := range tokens {
		out = append(out, t.Token)
	}
	return strings.Join(out, " ")
}

func lengths(d *model.Description) string {
	switch {
	case d.FixedLength > 0:
		return fmt.Sprintf("fixed to %d by the export", d.FixedLength)
	case d.MaxLength > 0:
		return fmt.Sprintf("up to %d, special tokens included", d.MaxLength)
	}
	return "not bounded; give --length"
}
