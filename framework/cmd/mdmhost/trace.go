package main

import (
	"fmt"
	"io"
	"os"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

func newTrace() *cobra.Command {
	return group("trace", "Look at the traces of sampling runs, and compare two", newTraceShow(), newTraceCompare())
}

func newTraceShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show FILE", Short: "Show a trace: its rows, the timeline of one, or the canvas after a step",
		Long: "Show a trace that `mdmhost sample --trace` wrote, as JSON lines or as a page: the rows; with --row the timeline of one, with what\n" +
			"each step opened (+position:token and its probability), overwrote (~position:token) and masked again (-position); with --step the canvas\n" +
			"after so many steps (0: its start). A trace of one row shows its timeline at once. --html writes the page of a trace of JSON lines. In\n" +
			"JSON, steps count from 0, as in step maps.\n\n" +
			"Rows of insertion models grow: positions are those of the row before the step; then positions leave (xposition) and masks come (^gap,\n" +
			"^gap*count; gap g lies before position g of the row without those that left). The timeline ends with the lives of the answer's tokens:\n" +
			"the step that inserted each > the step that opened it.",
		Example: `  mdmhost sample --num 4 --trace run.jsonl
  mdmhost trace show run.jsonl
  mdmhost trace show run.jsonl --row 2
  mdmhost trace show run.jsonl --row 2 --step 10
  mdmhost trace show run.jsonl --html run.html
  mdmhost trace show run.html --json`,
		Args: oneArg("file"),
	}
	asJSON := asJSON(c)
	row := c.Flags().Int64("row", -1, "row to show (its number in the run)")
	step := c.Flags().Int("step", -1, "show the canvas after so many steps of the row")
	html := c.Flags().String("html", "", "write the trace as one HTML page into this file")
	overwrite := c.Flags().Bool("overwrite", false, "replace the file of --html")
	partial := partialFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkShow(c, *row, *step, *asJSON, *html); err != nil {
			return err
		}
		t, err := trace.Open(args[0], trace.Options{Partial: *partial})
		if err != nil {
			return err
		}
		if *html != "" {
			return writePage(c, t, *html, *overwrite)
		}
		var one *trace.Row
		switch {
		case c.Flags().Changed("row"):
			if one, err = t.Find(*row); err != nil {
				return usage{err}
			}
		case len(t.Rows) == 1:
			one = t.Rows[0]
		case c.Flags().Changed("step"):
			return usagef("--step: the trace has %d rows; name one with --row", len(t.Rows))
		}
		return show(c, t, one, *step, *asJSON)
	}
	return c
}

func checkShow(c *cobra.Command, row int64, step int, asJSON bool, html string) error {
	switch {
	case c.Flags().Changed("row") && row < 0:
		return usagef("--row: expected a whole number from 0, found %d", row)
	case c.Flags().Changed("step") && step < 0:
		return usagef("--step: expected a whole number from 0, found %d", step)
	case c.Flags().Changed("step") && asJSON:
		return usagef("--step: does not go with --json, whose timeline has every step; leave one of them out")
	case html != "" && (asJSON || c.Flags().Changed("row") || c.Flags().Changed("step")):
		return usagef("--html: writes the whole trace; leave out --row, --step and --json")
	case html == "" && c.Flags().Changed("overwrite"):
		return usagef("--overwrite: goes with --html; add it")
	}
	return nil
}

// show prints the rows, or one of them (not nil), or one of its steps (from 0).
func show(c *cobra.Command, t *trace.Trace, one *trace.Row, step int, asJSON bool) error {
	look := look(c.OutOrStdout())
	switch {
	case asJSON && one != nil:
		return printJSON(c, t.Summarise(one))
	case asJSON:
		return printJSON(c, t.Summarise())
	case one == nil:
		return draw(c, t.Overview(look))
	case step < 0:
		return draw(c, t.Row(one, look))
	}
	text, err := t.Step(one, step, look)
	if err != nil {
		return usage{err}
	}
	return draw(c, text)
}

func newTraceCompare() *cobra.Command {
	c := &cobra.Command{
		Use: "compare A B", Short: "Hold the same rows of two traces against each other",
		Long: "Hold the same rows of two traces against each other: forward passes, steps, finish and revisions, the first step that did something else, the tokens\n" +
			"that differ in the end, and the correlation of the orders in which positions were opened (Kendall's tau-b: 1 the same, -1 reversed). Rows that\n" +
			"grew apart are compared along a longest common subsequence of their tokens.",
		Example: `  mdmhost sample --model sudoku --seed 1 --trace one.jsonl
  mdmhost sample --model sudoku --seed 1 --planner eb --trace eb.jsonl
  mdmhost trace compare one.jsonl eb.jsonl
  mdmhost trace compare one.jsonl eb.html --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s: expected two files, found %d", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	asJSON, partial := asJSON(c), partialFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		a, err := trace.Open(args[0], trace.Options{Partial: *partial})
		if err != nil {
			return err
		}
		b, err := trace.Open(args[1], trace.Options{Partial: *partial})
		if err != nil {
			return err
		}
		compared, err := trace.Compare(a, b)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, compared)
		}
		return draw(c, compared.Text(look(c.OutOrStdout())))
	}
	return c
}

func partialFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("partial", false, "read a file that ends in the middle of a line, as a killed run leaves it, up to there")
}

// writePage writes the page whole, or not at all.
func writePage(c *cobra.Command, t *trace.Trace, name string, overwrite bool) error {
	if _, err := os.Lstat(name); err == nil && !overwrite {
		return &results.Refused{File: name, Reason: "exists; name another file for the page, or add --overwrite to replace it"}
	}
	leftOut := 0
	err := wholefile.Replace(name, func(w io.Writer) (err error) {
		leftOut, err = t.WritePage(w)
		return err
	})
	if err == nil && leftOut > 0 {
		_, err = fmt.Fprintf(c.ErrOrStderr(), "note      %d rows had no room in the page\n", leftOut)
	}
	return err
}

// look fits what is drawn to where it goes: colours and widths are a terminal's.
func look(w io.Writer) trace.Look {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return trace.Look{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 80
	}
	return trace.Look{Width: width, Styled: true}
}

// draw prints a text whose colours are reduced to what the terminal and NO_COLOR allow.
func draw(c *cobra.Command, text string) error {
	_, err := lipgloss.Fprint(c.OutOrStdout(), text)
	return err
}
