package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// TestMain is also the main function of the plugins under test: this binary starts itself, as mdmhost does.
func TestMain(m *testing.M) {
	if len(os.Args) >= 4 && os.Args[1] == wire.SelfCommand { // --debug may follow
		if serve, ok := plugins[os.Args[3]]; ok {
			serve()
			return
		}
		fmt.Fprintln(os.Stderr, "there is no plugin", os.Args[3])
		os.Exit(2)
	}
	if len(os.Args) >= 2 && os.Args[1] == "__host" {
		hostUntilKilled(os.Args[2:]...)
	}
	os.Exit(m.Run())
}

type calmOptions struct {
	K     int     `option:"k" default:"1" min:"1" help:"positions opened in a step"`
	Gamma float64 `option:"gamma" default:"inf" min:"0"`
}

func calm() sampling.Planner {
	return sdk.NewPlanner("calm", func(o calmOptions) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			return r.Open(r.Eligible().SmallestBy(r.Entropy, o.K)).Metric("sum", float64(r.Entropy[0]))
		}
	}, sdk.Needs(sdk.Entropy), sdk.Version("1.2.3"), sdk.Summary("opens what is calm"), sdk.Pure())
}

// flooded is how many bytes the plugin "floods" prints.
const flooded = 64 << 20

// misbehave makes a planner whose Plan calls a function first; opts may declare it pure.
func misbehave(act func(r sdk.Row), opts ...sdk.Option) func() {
	return func() {
		sdk.Serve(sdk.NewPlanner("faulty", func(struct{}) sdk.PlanRow {
			return func(r sdk.Row) sdk.Decision {
				act(r)
				return r.Open(r.Eligible().First(1))
			}
		}, opts...))
	}
}

var plugins = map[string]func(){
	"calm":      func() { sdk.Serve(calm()) },
	"exits":     misbehave(func(sdk.Row) { fmt.Fprintln(os.Stderr, "out of cheese"); os.Exit(3) }),
	"panics":    misbehave(func(r sdk.Row) { panic(fmt.Sprintf("row %d is odd", r.Index)) }),
	"crashes":   misbehave(func(sdk.Row) { go func() { panic("in the background") }(); time.Sleep(time.Minute) }),
	"segfaults": misbehave(func(sdk.Row) { _ = syscall.Kill(os.Getpid(), syscall.SIGSEGV); time.Sleep(time.Minute) }),
	"hangs":     misbehave(func(sdk.Row) { time.Sleep(time.Hour) }),
	"prints": misbehave(func(sdk.Row) {
		fmt.Println("hello from the author")
		_, _ = os.NewFile(1, "stdout").WriteString(strings.Repeat("x", 1<<20) + "\n1|3|unix|/nowhere|grpc\n")
	}),
	"dies-once": misbehave(func(r sdk.Row) { dieOnce() }, sdk.Pure()),
	"forgets":   misbehave(func(r sdk.Row) { dieOnce() }),
	"dies":      misbehave(func(sdk.Row) { os.Exit(4) }, sdk.Pure()),
	"greets":    func() { fmt.Println("Welcome to my planner!"); sdk.Serve(calm()) },
	"chatters":  func() { fmt.Print(strings.Repeat("la", 1<<20)); sdk.Serve(calm()) },
	"quits":     func() { fmt.Fprintln(os.Stderr, "no licence found"); os.Exit(5) },
	"silent":    func() { time.Sleep(time.Hour) },
	"stays":     func() { serveRaw(wire.Version, rawPlanner{}); time.Sleep(time.Hour) },
	"floods": misbehave(func(sdk.Row) {
		line := strings.Repeat("x", 1023) + "\n"
		for range flooded >> 10 {
			_, _ = os.Stderr.WriteString(line)
		}
		fmt.Fprintln(os.Stderr, "out of ink")
		os.Exit(3)
	}),
	"returns": func() {
		sdk.Serve(calm())
		if err := os.WriteFile(os.Getenv("NOTE"), nil, 0o600); err != nil {
			panic(err)
		}
	},
	"notes": func() {
		if err := os.WriteFile(os.Getenv("NOTE"), []byte(itoa(os.Getpid())+"\n"), 0o600); err != nil {
			panic(err)
		}
		time.Sleep(time.Hour)
	},
	"protocol3": func() { serveRaw(3, rawPlanner{}) },
	"tcp1":      func() { fmt.Println("1|1|tcp|127.0.0.1:1|netrpc"); time.Sleep(time.Hour) },
	"environment": misbehave(func(sdk.Row) {
		fmt.Fprintln(os.Stderr, "environment:", strings.Join(os.Environ(), " "))
		os.Exit(1)
	}),
	"allocates": misbehave(func(sdk.Row) {
		var all [][]byte
		for range 1024 {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
		}
		fmt.Fprintln(os.Stderr, "there is no limit on", len(all), "MiB")
		os.Exit(8)
	}),
	"opens-files": misbehave(func(sdk.Row) {
		for range 1024 {
			if _, err := os.Open(os.Args[0]); err != nil {
				panic(err)
			}
		}
	}),
	"traces-back": misbehave(func(sdk.Row) {
		fmt.Fprint(os.Stderr, "Traceback (most recent call last):\n  File \"mine.py\", line 3, in <module>\n    plan()\nValueError: temperature is odd\nbye\n")
		os.Exit(1)
	}),
	"reports": misbehave(func(r sdk.Row) {
		if r.Index == 4 {
			fmt.Fprint(os.Stderr, "thread 'worker' panicked at src/main.rs:3:5:\nodd\n")
		}
	}),
	"reports-long": misbehave(func(sdk.Row) {
		fmt.Fprintln(os.Stderr, "fatal error: all is lost")
		for i := range 1000 {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		os.Exit(2)
	}),
	"dawdles": misbehave(func(sdk.Row) { time.Sleep(600 * time.Millisecond) }), // twice, in a step of two rows
	"dies-in-start": func() {
		sdk.Serve(sdk.NewRunPlanner("dies-in-start", func(struct{}, sampling.Run) (sdk.PlanRow, error) { os.Exit(9); return nil, nil }))
	},
	"soak":            func() { sdk.Serve(soaked(sdk.Entropy)) },
	"soak-logits":     func() { sdk.Serve(soaked(sdk.Logits)) },
	"earliest":        func() { sdk.Serve(earliest(sdk.Pure())) },
	"earliest-memory": func() { sdk.Serve(earliest()) },
	"grid":            func() { sdk.ServeSampler(masked.New()) },
	"uncertified": func() {
		_ = os.Unsetenv("PLUGIN_CLIENT_CERT")
		sdk.Serve(calm())
	},
	"refuses": func() {
		sdk.Serve(sdk.NewRunPlanner("refuses", func(struct{}, sampling.Run) (sdk.PlanRow, error) {
			return nil, errors.New("it needs a warmer model")
		}))
	},
	"few-rows":   func() { serveRaw(1, rawPlanner{reply: &pb.PlanReply{}}) },
	"nan-metric": func() { serveRaw(1, answer(&pb.Decision{Metrics: map[string]float64{"gain": math.NaN()}})) },
	"negative":   func() { serveRaw(1, answer(&pb.Decision{Open: []int32{-1}})) },
	"lopsided": func() {
		serveRaw(1, answer(&pb.Decision{OverwritePosition: []int32{1, 2}, OverwriteToken: []int32{1}}))
	},
	"nan-time": func() { serveRaw(1, answer(&pb.Decision{NextT: math.NaN()})) },
	"raises":   func() { serveRaw(1, rawPlanner{err: errors.New("Exception calling application: KeyError")}) },
	"mirror":   func() { sdk.Serve(mirror()) },
	"masked":   func() { sdk.ServeSampler(oneByOne()) },
	"sampler-hangs": func() {
		sdk.ServeSampler(sampler(func(context.Context, sampling.Session) error { time.Sleep(time.Hour); return nil }))
	},
	"sampler-leaves": func() {
		sdk.ServeSampler(sampler(func(ctx context.Context, s sampling.Session) error { _, err := s.Admit(ctx); return err }))
	},
	"sampler-advances": func() {
		sdk.ServeSampler(sampler(func(ctx context.Context, s sampling.Session) error {
			_, err := s.Advance(ctx, []sampling.Advance{{Slot: 3, T: 1}})
			return err
		}))
	},
	"sampler-gives-up": func() {
		sdk.ServeSampler(sampler(func(ctx context.Context, s sampling.Session) error {
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err := s.Advance(short, nil)
			return err
		}))
	},
	"sampler-lopsided": func() {
		sdk.ServeSampler(sampler(func(ctx context.Context, s sampling.Session) error {
			if _, err := s.Denoise(ctx, make([]sampling.Advance, 1)); err != nil {
				return err
			}
			_, err := s.Apply(ctx, []sampling.Decision{{NextT: math.NaN()}})
			return err
		}))
	},
	"opens-fixed": func() {
		sdk.Serve(sdk.NewPlanner("opens-fixed", func(struct{}) sdk.PlanRow {
			return func(r sdk.Row) sdk.Decision { return r.Open(r.At(1)) }
		}))
	},
	"sampler-exits": func() {
		sdk.ServeSampler(sampler(func(context.Context, sampling.Session) error { os.Exit(6); return nil }))
	},
}

// tidy is the index of a row that makes a planner under measurement give back the memory that it does not use.
const tidy = -1

// soaked opens the calmest position, or that with the largest logit of token 0.
func soaked(needs sdk.Statistic) sampling.Planner {
	return sdk.NewPlanner("soak", func(struct{}) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			if r.Index == tidy {
				debug.FreeOSMemory()
			}
			score := r.Entropy
			if r.Logits != nil {
				score = make([]float32, len(r.Token))
				for i := range score {
					score[i] = -r.Logits[i*r.V]
				}
			}
			return r.Open(r.Eligible().SmallestBy(score, 1)).Metric("best", 1)
		}
	}, sdk.Needs(needs))
}

// earliest opens the position whose uniform number is the smallest.
func earliest(opts ...sdk.Option) sampling.Planner {
	return sdk.NewPlanner("earliest", func(struct{}) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			return r.Open(r.Eligible().SmallestBy64(r.Uniform, 1))
		}
	}, append(opts, sdk.Needs(sdk.Uniform))...)
}

// dieOnce ends the process unless the file named by the environment is there already.
func dieOnce() {
	f, err := os.OpenFile(os.Getenv("DEATH_NOTE"), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_ = f.Close()
		os.Exit(7)
	}
}

// rawPlanner is a plugin made without the SDK, whose answers may be anything.
type rawPlanner struct {
	pb.UnimplementedPlannerServer
	plugin.NetRPCUnsupportedPlugin
	reply *pb.PlanReply
	err   error
}

func answer(d *pb.Decision) rawPlanner {
	return rawPlanner{reply: &pb.PlanReply{Decisions: []*pb.Decision{{}, d}}}
}

func (p rawPlanner) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeReply, error) {
	return &pb.DescribeReply{Kind: "planner", Name: "raw"}, nil
}

func (p rawPlanner) Start(context.Context, *pb.StartRequest) (*pb.StartReply, error) {
	return &pb.StartReply{}, nil
}

func (p rawPlanner) Plan(context.Context, *pb.PlanRequest) (*pb.PlanReply, error) {
	return p.reply, p.err
}

func (p rawPlanner) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterPlannerServer(s, p)
	return nil
}

func (rawPlanner) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

func serveRaw(version int, p rawPlanner) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{version: {"planner": p}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

func sampler(sample sdk.SampleFunc, opts ...sdk.Option) sampling.Sampler {
	return sdk.NewSampler("faulty", func(struct{}, sampling.Run) (sdk.SampleFunc, error) { return sample, nil }, opts...)
}
