package sweep

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake is a point of four rows with so many of them right, and so many forward passes each.
func fake(series, name string, right, nfe int) *Measured {
	m := &Measured{Series: series, Name: name, Model: "tiny", Runtime: "go", Batch: 4, Seed: 3, Passes: nfe, Tokens: 40, Seconds: 2, OpenSeconds: 0.5, Digests: map[string]string{"model": "f0", "planner": "f1", "sampler": "f2"}}
	for i := range 4 {
		row := Row{Index: int64(i), Written: Written{Text: "x"}, NFE: nfe + i%2, Steps: nfe, Revised: 1, Metrics: map[string]float64{"tokens": 0.5, "exact": 0}}
		if i < right {
			row.Metrics = map[string]float64{"tokens": 1, "exact": 1}
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func lines() []Line {
	first := fake("confidence", "confidence k=1", 4, 8)
	return []Line{newLine(first, nil, "rows/a.jsonl"), newLine(fake("confidence", "confidence k=2", 4, 4), first, "rows/b.jsonl"),
		newLine(fake("eb", "eb gamma=1", 0, 3), first, "rows/c.jsonl")}
}

const golden = `series,point,rows,nfe,nfe_se,passes,score_passes,steps,revised,exact,exact_se,exact_diff,exact_diff_low,exact_diff_high,tokens,tokens_se,tokens_diff,tokens_diff_low,tokens_diff_high,tokens_per_second,seconds,open_seconds,batch,runtime,model,seed,file,model_digest,planner_digest,sampler_digest
confidence,confidence k=1,4,8.5,0.28867513,8,0,8,1,1,0,,,,1,0,,,,20,2,0.5,4,go,tiny,3,rows/a.jsonl,f0,f1,f2
confidence,confidence k=2,4,4.5,0.28867513,4,0,4,1,1,0,0,0,0,1,0,0,0,0,20,2,0.5,4,go,tiny,3,rows/b.jsonl,f0,f1,f2
eb,eb gamma=1,4,3.5,0.28867513,3,0,3,1,0,0,-1,-1,-1,0.5,0,-0.5,-0.5,-0.5,20,2,0.5,4,go,tiny,3,rows/c.jsonl,f0,f1,f2
`

func TestCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), CSVFile)
	if err := writeCSV(path, lines()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	want := []string{
		"point NFE exact tokens exact - first [95 %] revised tokens/s",
		"confidence k=1 8.50 1.0000 1.0000 1.00 20",
		"confidence k=2 4.50 1.0000 1.0000 +0.0000 [+0.0000, +0.0000] 1.00 20",
		"eb gamma=1 3.50 0.0000 0.5000 -1.0000 [-1.0000, -1.0000] 1.00 20",
	}
	for i, line := range strings.Split(strings.TrimSpace(Table(lines(), "exact")), "\n") {
		if got := strings.Join(strings.Fields(line), " "); got != want[i] {
			t.Errorf("line %d: %q, want %q", i, got, want[i])
		}
	}
}

func TestPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), PictureFile)
	if err := drawLines(path, "a test", "exact", lines()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	p, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if p.Bounds().Size() != image.Pt(1200, 700) {
		t.Errorf("size %v", p.Bounds().Size())
	}
	for _, c := range colours[:2] {
		n := 0
		for y := range 700 {
			for x := range 1200 {
				if r, g, b, _ := p.At(x, y).RGBA(); uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
					n++
				}
			}
		}
		if n < 50 {
			t.Errorf("%d pixels in colour %v", n, c)
		}
	}
	if err := drawLines(path, "", "valid", lines()); err == nil || !strings.Contains(err.Error(), `no point has the metric "valid"`) {
		t.Errorf("%v", err)
	}
}

func TestRowsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if m, err := read(path); m != nil || err != nil {
		t.Fatal(m, err)
	}
	m := fake("confidence", "confidence k=1", 2, 8)
	if err := m.write(path); err != nil {
		t.Fatal(err)
	}
	back, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if err := os.WriteFile(path, []byte(`{"series": "x"}`+"\n"+`{"index": `), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); err == nil || !strings.HasPrefix(err.Error(), path+": row 0: ") {
		t.Errorf("%v", err)
	}
}

// Metrics that some rows lack are means over the others, and compared where both points have them; "unique" is not compared.
func TestWhatIsNotCompared(t *testing.T) {
	a, b := fake("a", "a", 2, 4), fake("b", "b", 2, 4)
	for i := range 4 {
		a.Rows[i].Metrics["unique"], b.Rows[i].Metrics["unique"] = 1, 1
		if i > 0 {
			b.Rows[i].Metrics["qed"] = 0.5
		}
		if i < 2 {
			a.Rows[i].Metrics["qed"] = 0.25
		}
	}
	l := newLine(b, a, "")
	if l.Metrics["qed"].Value != 0.5 || l.Diff["qed"].Mean != 0.25 || len(l.Diff) != 3 || len(l.Metrics) != 4 {
		t.Errorf("metrics %v, differences %v", l.Metrics, l.Diff)
	}
}

func TestUnique(t *testing.T) {
	rows := texts("a", "b", "a")
	unique(rows)
	if rows[0].Metrics["unique"] != 1 || rows[1].Metrics["unique"] != 1 || rows[2].Metrics["unique"] != 0 {
		t.Errorf("%v", rows)
	}
}
