package onnx_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// The benchmarks time two ways of one computation by turns and report the median of the ratios of neighbours, so that a
// busy machine shifts both. Lines "ratio NAME VALUE target <=X" end the output of each.

// bare is a session on the unchanged model: tokens and mask in, logits out into memory that is there already.
type bare struct {
	session         *ort.DynamicAdvancedSession
	inputs, outputs []ort.Value
	tokens          []int64
	logits          []float32
}

func newBare(b *testing.B, data []byte, names []string, rows, length, v, threads int) *bare {
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	so, err := ort.NewSessionOptions()
	check(err)
	defer func() { check(so.Destroy()) }()
	check(so.SetIntraOpNumThreads(threads))
	check(so.SetInterOpNumThreads(1))
	check(so.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"))
	s := &bare{tokens: make([]int64, rows*length), logits: make([]float32, rows*length*v)}
	s.session, err = ort.NewDynamicAdvancedSessionWithONNXData(data, names, []string{"logits"}, so)
	check(err)
	ones := slices.Repeat([]int64{1}, rows*length)
	shape := ort.NewShape(int64(rows), int64(length))
	for _, name := range names {
		t, err := ort.NewTensor(shape, map[string][]int64{"input_ids": s.tokens, "position_ids": s.tokens, "attention_mask": ones}[name])
		check(err)
		s.inputs = append(s.inputs, t)
	}
	out, err := ort.NewTensor(ort.NewShape(int64(rows), int64(length), int64(v)), s.logits)
	check(err)
	s.outputs = []ort.Value{out}
	b.Cleanup(func() {
		for _, v := range append(s.inputs, s.outputs...) {
			check(v.Destroy())
		}
		check(s.session.Destroy())
	})
	return s
}

func (s *bare) run(b *testing.B) {
	if err := s.session.Run(s.inputs, s.outputs); err != nil {
		b.Fatal(err)
	}
}

// ratio times two functions by turns and returns the medians of the ratios of wall time and of processor time, which a
// busy machine disturbs less.
func ratio(b *testing.B, ours, theirs func()) (wall, processor float64) {
	var walls, processors []float64
	clock := func(f func()) (float64, float64) {
		t, c := time.Now(), processorTime(b)
		f()
		return float64(time.Since(t)), float64(processorTime(b) - c)
	}
	for range 3 {
		ours()
		theirs()
	}
	flip := false
	for b.Loop() {
		var ourWall, ourCPU, theirWall, theirCPU float64
		if flip = !flip; flip {
			ourWall, ourCPU = clock(ours)
			theirWall, theirCPU = clock(theirs)
		} else {
			theirWall, theirCPU = clock(theirs)
			ourWall, ourCPU = clock(ours)
		}
		walls, processors = append(walls, ourWall/theirWall), append(processors, ourCPU/theirCPU)
	}
	return median(walls), median(processors)
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median[T cmp.Ordered](s []T) T {
	slices.Sort(s)
	return s[len(s)/2]
}

func benchModel() (string, string) {
	dir := cmp.Or(os.Getenv("MDMHOST_BENCH_MODEL"), "../../../shared/models/rxnfp-bert")
	return filepath.Base(dir), filepath.Join(dir, "onnx/model.onnx")
}

// BenchmarkHead compares a pass with the head (greedy and drawn) with the bare forward of a real model.
func BenchmarkHead(b *testing.B) {
	name, path := benchModel()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, threads := range []int{1, 2} {
		for _, size := range [][2]int{{1, 64}, {1, 256}, {8, 64}, {8, 256}} {
			rows, length := size[0], size[1]
			b.Run(fmt.Sprintf("b%d_l%d_t%d", rows, length, threads), func(b *testing.B) {
				head := sampling.Head{Suppress: []int32{14}, Needs: allNeeds}
				d := open(b, onnx.Model{Name: name, Path: path}, onnx.Options{Threads: threads}, head)
				v := d.Capabilities().V
				s := newBare(b, data, []string{"input_ids", "attention_mask"}, rows, length, v, threads)
				batch := batchOf(b, d, rows, length)
				for i := range batch.Tokens {
					batch.Tokens[i] = int64(14 + i%100)
					s.tokens[i] = batch.Tokens[i]
					batch.Uniform[i] = 0.3
				}
				for i := range batch.Params {
					batch.Params[i].Temperature = 1
				}
				wall, processor := ratio(b, func() { runOf(b, d) }, func() { s.run(b) })
				fmt.Printf("ratio head_v%d_b%d_l%d_t%d %.4f target <=1.08 (processor time %.4f)\n", v, rows, length, threads, wall, processor)
			})
		}
	}
}

// BenchmarkWideHead compares, at V 50,000, the cost that the head adds to a forward with that of copying the logits out
// and computing the same in Go.
func BenchmarkWideHead(b *testing.B) {
	const v, rows, length, dim = 50_000, 1, 32, 64
	data := embedModel(100, dim, v)
	model := onnx.Model{Name: "wide", Data: data}
	needs := sampling.Needs{Proposal: true, P1: true, P2: true, Entropy: sampling.OnModel, LogpProposal: sampling.OnModel}
	for _, c := range []struct {
		name   string
		params sampling.Params
		target string
	}{
		{"", sampling.Params{TopP: 1}, "target >=3"},
		{"_draw", sampling.Params{Temperature: 1, TopP: 1}, "reported apart"},
		{"_draw_t0.7", sampling.Params{Temperature: 0.7, TopP: 1}, "reported apart"},
		{"_top_p", sampling.Params{Temperature: 1, TopP: 0.9}, "reported apart"},
	} {
		b.Run("v50000"+c.name, func(b *testing.B) {
			head := sampling.Head{Suppress: []int32{14}, Needs: needs, Filter: c.params.TopP < 1}
			d := open(b, model, onnx.Options{Threads: 1}, head)
			s := newBare(b, data, []string{"input_ids"}, rows, length, v, 1)
			batch := batchOf(b, d, rows, length)
			for i := range batch.Tokens {
				batch.Tokens[i], batch.Uniform[i] = int64(i%100), 0.4
				s.tokens[i] = batch.Tokens[i]
			}
			batch.Params[0] = c.params
			var st sampling.Statistics
			copied := make([]float32, len(s.logits))
			var forward, fused, plain []time.Duration
			clock := func(f func()) time.Duration { t := time.Now(); f(); return time.Since(t) }
			for b.Loop() {
				forward = append(forward, clock(func() { s.run(b) }))
				fused = append(fused, clock(func() { runOf(b, d) }))
				plain = append(plain, clock(func() {
					copy(copied, s.logits)
					if err := sampling.Compute(copied, v, batch, head, &st); err != nil {
						b.Fatal(err)
					}
				}))
			}
			f, h, g := median(forward), median(fused), median(plain)
			b.ReportMetric(float64(f.Microseconds())/1000, "ms/forward")
			b.ReportMetric(float64(h.Microseconds())/1000, "ms/with-head")
			b.ReportMetric(float64(g.Microseconds())/1000, "ms/copy+go")
			fmt.Printf("ratio head_v50000_vs_go%s %.2f %s (head %.3f ms, copy and Go %.3f ms for %d positions)\n", c.name,
				float64(g)/float64(max(h-f, 1)), c.target, float64(h-f)/1e6, float64(g)/1e6, rows*length)
		})
	}
}

// BenchmarkMemory times what kl_prev, credits and the other edits add to a pass of 8 rows of 256 positions with 591 tokens.
func BenchmarkMemory(b *testing.B) {
	const v, rows, length = 591, 8, 256
	data := embedModel(v, 32, v)
	plain := sampling.Head{Suppress: []int32{14}, Needs: allNeeds}
	for _, threads := range []int{1, 2} {
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph} {
			for _, c := range []struct {
				name string
				with func(*sampling.Head)
			}{
				{"kl_prev", func(h *sampling.Head) { h.Needs.KLPrev = true }},
				{"credit", func(h *sampling.Head) { h.Edits.Credit = everyEdit.Credit }},
				{"edits", func(h *sampling.Head) {
					h.Edits = sampling.Edits{Bias: everyEdit.Bias[:2], Repetition: 1.3, Left: 1}
				}},
			} {
				b.Run(fmt.Sprintf("%s_%s_t%d", c.name, mode, threads), func(b *testing.B) {
					more := plain
					c.with(&more)
					var ds []*onnx.Denoiser
					for _, h := range []sampling.Head{plain, more} {
						d := open(b, onnx.Model{Name: "embed", Data: data}, onnx.Options{Threads: threads, Head: mode}, h)
						batch := batchOf(b, d, rows, length)
						for i := range batch.Tokens {
							batch.Tokens[i] = int64(i % v)
							if i%2 == 0 {
								batch.Tokens[i] = 14
							}
						}
						for i := range batch.Slots {
							batch.Slots[i] = int32(i)
						}
						ds = append(ds, d)
					}
					var times [2][]time.Duration
					for b.Loop() {
						for i, d := range ds {
							start := time.Now()
							runOf(b, d)
							times[i] = append(times[i], time.Since(start))
						}
					}
					without, with := median(times[0]), median(times[1])
					fmt.Printf("%s, head %s, %d threads, B %d L %d V %d: %.3f ms a pass without, %.3f ms with, %.3f ms more\n", c.name, mode, threads, rows, length, v,
						float64(without)/1e6, float64(with)/1e6, float64(with-without)/1e6)
				})
			}
		}
	}
}
