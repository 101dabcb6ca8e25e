package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
)

// own are the metrics that no evaluator may give.
var own = []string{"exact", "tokens", "unique", "entropy"}

// judge replaces what an earlier evaluator said of the rows by what this one says, "" nothing.
func (m *Measured) judge(ctx context.Context, command string) error {
	for _, r := range m.Rows {
		maps.DeleteFunc(r.Metrics, func(name string, _ float64) bool { return !slices.Contains(own, name) })
	}
	m.Evaluator = command
	return judge(ctx, command, m.Rows)
}

// judge adds the numbers that a program says of the rows. It reads one [Written] as a JSON line for each row on its standard
// input and writes one line of JSON for each: a number or true or false, which is the metric "valid", or an object of such
// by name, where null stands for a metric that this row has not.
func judge(ctx context.Context, command string, rows []Row) error {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil
	}
	var in, out, said bytes.Buffer
	lines := json.NewEncoder(&in)
	lines.SetEscapeHTML(false)
	for _, r := range rows {
		if err := lines.Encode(r.Written); err != nil {
			return err
		}
	}
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = &in, &out, &said
	fail := func(err error, hint string) error {
		text := strings.TrimSpace(said.String())
		return fmt.Errorf("evaluator %s: %w; %s", command, err, strings.TrimSpace(hint+"\n"+text[max(0, len(text)-2000):]))
	}
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fail(err, "run it by hand on a line such as {\"text\": \"CCO\"}")
	}
	scan := bufio.NewScanner(&out)
	scan.Buffer(nil, 1<<20)
	n := 0
	for ; scan.Scan(); n++ {
		if n == len(rows) {
			return fail(fmt.Errorf("wrote more than %d lines", n), "expected one line for each text")
		}
		if err := verdict(scan.Bytes(), rows[n].Metrics); err != nil {
			return fail(fmt.Errorf("line %d: %w", n+1, err), `expected a number, true, false, null or an object of such, as {"valid": true}`)
		}
	}
	if err := scan.Err(); err != nil {
		return fail(err, "expected short lines")
	}
	if n < len(rows) {
		return fail(fmt.Errorf("wrote %d lines for %d texts", n, len(rows)), "expected one line for each")
	}
	return nil
}

// verdict reads one line into metrics.
func verdict(line []byte, metrics map[string]float64) error {
	var of map[string]any
	if json.Unmarshal(line, &of) != nil {
		var one any
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		of = map[string]any{"valid": one}
	}
	if len(of) == 0 {
		return errors.New("found nothing")
	}
	for name, v := range of {
		if slices.Contains(own, name) {
			return fmt.Errorf("%s: is a metric that mdmhost gives; call it otherwise", name)
		}
		switch v := v.(type) {
		case float64:
			metrics[name] = v
		case bool:
			metrics[name] = 0
			if v {
				metrics[name] = 1
			}
		case nil:
			continue
		default:
			return fmt.Errorf("%s: found %v", name, v)
		}
		if math.IsInf(metrics[name], 0) {
			return fmt.Errorf("%s: is infinite", name)
		}
	}
	return nil
}
