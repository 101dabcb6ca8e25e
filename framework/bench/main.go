// Command bench compares sampling and training with what people would use instead, in one run and interleaved: a Python loop on
// ONNX Runtime, PyTorch eager, and the host's own parts against each other. Every figure is a line
//
//	ratio NAME VALUE target <=X
//
// with medians; lines that start with # say what was measured. Nothing here decides whether a target is met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
)

// bench is what all measurements share.
type bench struct {
	model    string // directory of rxnfp-bert
	growing  string // directory of an insertion model
	data     string // directory of the project's data
	binary   string // mdmhost
	python   string // interpreter that has the peers
	kit      string // interpreter that has what the Python kit needs
	budget   time.Duration
	profile  bool   // print where the time of a gradient step goes
	provider string // that the groups cuda and cuda-train measure
	setting  string // the one setting of gradient steps that is measured; "": all
}

func main() {
	host.ServePlugin(os.Args)
	if len(os.Args) == 6 && os.Args[1] == stepperArgument {
		threads, _ := strconv.Atoi(os.Args[3])
		if err := serveSteps(context.Background(), os.Args[2], threads, os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == kitArgument {
		serveKit(os.Args[2])
	}
	b := bench{}
	flag.StringVar(&b.model, "model", "../shared/models/rxnfp-bert", "`directory` of the model that is sampled from")
	flag.StringVar(&b.data, "data", "../shared/data", "`directory` of the data that the twins train on")
	flag.StringVar(&b.binary, "binary", "bin/mdmhost", "the mdmhost whose start is measured")
	flag.StringVar(&b.python, "peers", peers(), "Python with onnxruntime, numpy and, if possible, torch and onnx (environment: MDMHOST_PEERS)")
	flag.StringVar(&b.kit, "kit", "third_party/python-kit/bin/python", "Python with what plugins/python needs")
	flag.DurationVar(&b.budget, "budget", 15*time.Second, "time for each figure, about")
	flag.BoolVar(&b.profile, "profile", false, "print where the time of a gradient step goes, by operator")
	flag.StringVar(&b.setting, "setting", "", "measure the gradient steps of this setting alone, such as molecule_order")
	flag.StringVar(&b.provider, "provider", "cuda", "what the groups cuda and cuda-train measure: cuda, or cpu to try them without a GPU")
	flag.StringVar(&b.growing, "insertion", "framework/model/embedded/molecule-insertion", "`directory` of the insertion model that is sampled from")
	flag.Parse()
	// The benchmarks of the runtime run in another folder.
	for _, dir := range []*string{&b.model, &b.growing} {
		if path, err := filepath.Abs(*dir); err == nil {
			*dir = path
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func peers() string {
	if p := os.Getenv("MDMHOST_PEERS"); p != "" {
		return p
	}
	return filepath.FromSlash(".peers/bin/python")
}

// run measures the named groups, or all of sampling.
func (b bench) run(ctx context.Context, only []string) error {
	groups := []struct {
		name    string
		measure func(context.Context) error
	}{{"nfe", b.nfe}, {"plugin", b.plugin}, {"planners", b.planners}, {"head", b.head}, {"start", b.start}, {"insertion", b.insertion}, {"kits", b.kits}, {"threads", b.threads}, {"train", b.train}, {"twin", b.twin}, {"export", b.export}, {"import", b.imports}, {"cuda", b.cuda}, {"cuda-train", b.cudaTrain}, {"serve", b.serve}}
	if len(only) == 0 {
		only = []string{"nfe", "plugin", "planners", "head", "start"}
	}
	for _, name := range only {
		known := false
		for _, g := range groups {
			known = known || g.name == name
		}
		if !known {
			return fmt.Errorf("argument %s: expected some of nfe, plugin, planners, head, start, insertion, kits, threads, train, twin, export, import, cuda, cuda-train, serve, or nothing for the first five", name)
		}
	}
	fmt.Printf("# %s/%s, %d cores, load %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	for _, g := range groups {
		if !strings.Contains(" "+strings.Join(only, " ")+" ", " "+g.name+" ") {
			continue
		}
		if err := errors.Join(g.measure(ctx), ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		fmt.Printf("# load after %s: %s\n", g.name, load())
	}
	return nil
}

// load is the machine's load average, which says how far the figures can be trusted.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
