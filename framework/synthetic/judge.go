package synthetic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Line is a row that a model wrote, as `mdmhost bench sampler` gives it to evaluators. Positions are those of the row, special
// tokens and prompt included; without Pieces and StepMap nothing is said of orders.
type Line struct {
	Text    string   `json:"text"`
	Pieces  []string `json:"pieces"`
	StepMap []int32  `json:"step_map"` // step that opened a position, -1 where it was given
	Born    []int32  `json:"born"`     // step that inserted it; absent where rows do not grow
}

// Judge says how good rows are.
type Judge interface {
	// Row returns the metrics of one row; some may be missing.
	Row(Line) (map[string]float64, error)
	// Summary returns what holds for all rows so far.
	Summary() map[string]float64
}

// Run judges JSON lines: a line for each, or where only the summary is asked for, one object.
func Run(j Judge, from io.Reader, to io.Writer, summary bool) error {
	scan := bufio.NewScanner(from)
	scan.Buffer(nil, 16<<20)
	out := bufio.NewWriter(to)
	lines, n := json.NewEncoder(out), 0
	for scan.Scan() {
		n++
		var l Line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return fmt.Errorf("line %d: %w; expected an object with text", n, err)
		}
		m, err := j.Row(l)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if summary {
			continue
		}
		if err := lines.Encode(m); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if summary {
		m := j.Summary()
		m["rows"] = float64(n)
		if err := lines.Encode(m); err != nil {
			return err
		}
	}
	return out.Flush()
}

// orders returns the ranks of the steps at which the characters of a text were opened and inserted, nil where the line does not
// tell. The text is what was not given, and each of its characters must be a token; fill behind it is left out.
func (l Line) orders(text string) (opened, born []float64) {
	var at []int
	for i, step := range l.StepMap {
		if step >= 0 {
			at = append(at, i)
		}
	}
	if len(l.Pieces) != len(l.StepMap) || len(at) < len(text) {
		return nil, nil
	}
	at = at[:len(text)]
	var openedAt, bornAt []int32
	for i, p := range at {
		if l.Pieces[p] != text[i:i+1] {
			return nil, nil
		}
		openedAt = append(openedAt, l.StepMap[p])
		if len(l.Born) == len(l.StepMap) {
			bornAt = append(bornAt, l.Born[p])
		}
	}
	return ranks(openedAt), ranks(bornAt)
}

// ranks counts for every step how many are earlier, and half of the others that are equal.
func ranks(steps []int32) []float64 {
	sorted := slices.Sorted(slices.Values(steps))
	out := make([]float64, len(steps))
	for i, s := range steps {
		first, _ := slices.BinarySearch(sorted, s)
		behind, _ := slices.BinarySearch(sorted, s+1)
		out[i] = float64(first+behind-1) / 2
	}
	return out
}

// correlation is Pearson's of pairs that come one by one.
type correlation struct{ n, x, y, xx, yy, xy float64 }

func (c *correlation) add(x, y float64) {
	c.n, c.x, c.y, c.xx, c.yy, c.xy = c.n+1, c.x+x, c.y+y, c.xx+x*x, c.yy+y*y, c.xy+x*y
}

// value is missing where one of the two does not vary.
func (c *correlation) value() (float64, bool) {
	vx, vy := c.xx-c.x*c.x/c.n, c.yy-c.y*c.y/c.n
	if c.n < 2 || vx < 1e-9*c.n || vy < 1e-9*c.n {
		return 0, false
	}
	return (c.xy - c.x*c.y/c.n) / math.Sqrt(vx*vy), true
}

// law compares what was drawn with a law.
type law[T comparable] struct {
	seen map[T]float64
	n    float64
}

func (l *law[T]) add(x T) {
	if l.seen == nil {
		l.seen = map[T]float64{}
	}
	l.seen[x]++
	l.n++
}

// distance is the total variation between what was seen and p, which is 1 in sum over all.
func (l *law[T]) distance(all []T, p func(T) float64) float64 {
	sum, known := 0.0, 0.0
	for _, x := range all {
		sum += math.Abs(l.seen[x]/l.n - p(x))
		known += l.seen[x]
	}
	return (sum + (l.n-known)/l.n) / 2
}

// share is a mean of yes and no.
func share(yes, all float64) float64 { return yes / max(all, 1) }

// flag is 1 or 0.
func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
