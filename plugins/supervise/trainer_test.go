package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

type linearOptions struct {
	Eps float64 `option:"eps" default:"1e-4" min:"0" max:"0.1"`
}

// linear is MD4 with the linear schedule; act is called before the graph is written.
func linear(act func()) spec.Trainer {
	return sdk.NewTrainer("linear", func(o linearOptions, _ spec.Task) (trainer.Definition, error) {
		act()
		return trainer.Definition{Loss: func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			t := in.Time(trainer.SharedOffset, o.Eps)
			masked := g.And(in.Free(), g.Less(in.Uniform("u", "B", "L"), t))
			out := in.Network("denoiser", trainer.IDs(g.Select(masked, in.MaskID(), in.Tokens())).At(t))
			nll := g.CrossEntropy(out["logits"], in.Tokens())
			return trainer.PerRow(g.RowSum(g.Div(g.Keep(masked, nll), t)))
		}}, nil
	}, sdk.Version("2.0.0"), sdk.Summary("for tests"))
}

func init() {
	for name, act := range map[string]func(){
		"trainer":           func() {},
		"trainer-exits":     func() { fmt.Fprintln(os.Stderr, "no more ink"); os.Exit(9) },
		"trainer-panics":    func() { panic("tau is odd") },
		"trainer-crashes":   func() { go func() { panic("in the background") }(); time.Sleep(time.Minute) },
		"trainer-hangs":     func() { time.Sleep(time.Hour) },
		"trainer-prints":    func() { fmt.Println("1|3|unix|/nowhere|grpc") },
		"trainer-dies-once": dieOnce,
	} {
		plugins[name] = func() { sdk.ServeTrainerValue(linear(act)) }
	}
	plugins["trainer-twisted"] = func() {
		sdk.ServeTrainer("twisted", func(g *graph.Builder, in trainer.Inputs) trainer.Loss {
			return trainer.PerRow(g.Add(in.Tokens(), in.Rank()))
		})
	}
	for name, bend := range map[string]func(*pb.BuildReply){
		"trainer-garbage":  func(m *pb.BuildReply) { m.TrainingGraph = []byte("\x00garbage") },
		"trainer-half":     func(m *pb.BuildReply) { m.EvalGraph = nil },
		"trainer-swapped":  func(m *pb.BuildReply) { m.TrainingGraph, m.EvalGraph = m.EvalGraph, m.TrainingGraph },
		"trainer-nameless": func(m *pb.BuildReply) { m.Networks = nil },
		"trainer-empty":    func(m *pb.BuildReply) { m.Reset() },
		"trainer-huge":     func(m *pb.BuildReply) { m.EvalGraph = make([]byte, wire.MessageCap) },
	} {
		plugins[name] = func() { serveRawTrainer(bend) }
	}
}

// rawTrainer answers without the kit's checks.
type rawTrainer struct {
	pb.UnimplementedTrainerServer
	plugin.NetRPCUnsupportedPlugin
	bend func(*pb.BuildReply)
}

func (rawTrainer) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeReply, error) {
	return &pb.DescribeReply{Kind: "trainer", Name: "raw"}, nil
}

func (p rawTrainer) Build(ctx context.Context, m *pb.BuildRequest) (*pb.BuildReply, error) {
	reply, err := linear(func() {}).Build(ctx, wire.TaskFromProto(m))
	if err != nil {
		return nil, err
	}
	out := wire.ReplyToProto(reply)
	p.bend(out)
	return out, nil
}

func (p rawTrainer) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterTrainerServer(s, p)
	return nil
}

func (rawTrainer) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}

func serveRawTrainer(bend func(*pb.BuildReply)) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{1: {"trainer": rawTrainer{bend: bend}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, wire.ServerOptions()...)...)
		},
	})
}

func trainingTask() spec.Task {
	return spec.Task{V: 7, MaskID: 6, PadID: -1, Suppressed: []int64{6}, Opset: 20, Denoiser: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("batch", "length")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("batch", "length", 7)}},
	}}
}

// TestATrainerSaysTheSameInItsProcess compares every byte with what the trainer says in process.
func TestATrainerSaysTheSameInItsProcess(t *testing.T) {
	p, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Name: "trainer"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	here := linear(func() {})
	wantDescription, _ := here.Describe(ctx)
	away := p.Trainer()
	gotDescription, _ := away.Describe(ctx)
	if diff := cmp.Diff(wantDescription, gotDescription); diff != "" {
		t.Error(diff)
	}
	want, err := here.Build(ctx, trainingTask())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := away.Build(ctx, trainingTask())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := away.End(ctx); err != nil {
			t.Error(err)
		}
	}
	task := trainingTask()
	task.Options = []byte(`{"epsilon": 1}`)
	_, err = away.Build(ctx, task)
	check(t, err, sampling.InvalidConfig, "trainer trainer: INVALID_CONFIG: option epsilon: unknown; *; `mdmhost plugin info linear` lists the options")
	task = trainingTask()
	task.Opset = 3
	_, err = away.Build(ctx, task)
	check(t, err, sampling.Internal, "training task: INTERNAL: the opset is outside 17 to 23; *")
}

func TestFaultsInBuild(t *testing.T) {
	for name, c := range map[string]struct {
		code sampling.Code
		want string
	}{
		"trainer-exits":    {sampling.Crashed, "trainer trainer-exits: CRASHED: the process exited with status 9 during Build; its log says: no more ink; *"},
		"trainer-panics":   {sampling.Internal, "trainer trainer-panics: INTERNAL: panic in the plugin: tau is odd (trainer_test.go:*); *"},
		"trainer-crashes":  {sampling.Crashed, "trainer trainer-crashes: CRASHED: the process exited with status 2 during Build; its log says: panic: in the background; *"},
		"trainer-hangs":    {sampling.Timeout, "trainer trainer-hangs: TIMEOUT: no answer to Build within 1s; the process was stopped; *"},
		"trainer-twisted":  {sampling.ContractViolation, "trainer trainer-twisted: CONTRACT_VIOLATION: graph twisted: trainer_test.go:*: PerRow: Add int64[B, L]; expected float32 [B], one number a row; *"},
		"trainer-garbage":  {sampling.ContractViolation, "trainer trainer-garbage: CONTRACT_VIOLATION: training graph: ONNX model: *; the plugin breaks the protocol; report it to its author"},
		"trainer-half":     {sampling.ContractViolation, "trainer trainer-half: CONTRACT_VIOLATION: eval graph: it is missing; expected an ONNX graph; *"},
		"trainer-swapped":  {sampling.ContractViolation, `trainer trainer-swapped: CONTRACT_VIOLATION: training graph: it has no output "loss"; *`},
		"trainer-nameless": {sampling.ContractViolation, `trainer trainer-nameless: CONTRACT_VIOLATION: the networks are []; expected one named "denoiser", *`},
		"trainer-empty":    {sampling.ContractViolation, `trainer trainer-empty: CONTRACT_VIOLATION: the networks are []; *`},
		"trainer-huge":     {sampling.Exhausted, "trainer trainer-huge: EXHAUSTED: *; the graphs may have 250 MiB together; big tables belong into the spec's parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := supervise.Spec{Kind: sampling.KindTrainer, Name: name}
			if c.code == sampling.Timeout {
				spec.Deadlines.Call = time.Second
			}
			p, err := launch(t, spec)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := p.Trainer().Build(t.Context(), trainingTask())
			check(t, err, c.code, c.want)
			if reply != nil {
				t.Error("there is a reply beside the error")
			}
		})
	}
}

// TestATrainerThatDiedStartsAnew asks again after a death: the next Build has a process of its own.
func TestATrainerThatDiedStartsAnew(t *testing.T) {
	note := shortDir(t) + "/note"
	p, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Name: "trainer-dies-once", Env: []string{"DEATH_NOTE=" + note}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Trainer().Build(t.Context(), trainingTask())
	check(t, err, sampling.Crashed, "trainer trainer-dies-once: CRASHED: the process exited with status 7 during Build; *")
	if err := p.Trainer().End(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := p.Trainer().Build(t.Context(), trainingTask()); err != nil {
		t.Error(err)
	}
}

func TestATrainerThatPrintsIsHeard(t *testing.T) {
	p, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Name: "trainer-prints"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Trainer().Build(t.Context(), trainingTask()); err != nil {
		t.Error(err)
	}
}

func TestAPlannerIsNoTrainer(t *testing.T) {
	_, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Name: "calm"})
	check(t, err, sampling.UnsupportedProtocol, "trainer calm: UNSUPPORTED_PROTOCOL: *")
}

// TestSomebodysTrainer builds the example as its author would, in its own module, and asks it for graphs.
func TestSomebodysTrainer(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "focal-trainer")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "examples", "focal-trainer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Path: binary, Name: "./focal-trainer"})
	if err != nil {
		t.Fatal(err)
	}
	task := trainingTask()
	task.Options = []byte(`{"gamma": 1}`)
	reply, err := p.Trainer().Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Summary != "focal MD4, gamma 1" || reply.Spec.Bound != spec.Bound {
		t.Errorf("summary %q, bound %q", reply.Summary, reply.Spec.Bound)
	}
	task.Options = []byte(`{"gama": 1}`)
	_, err = p.Trainer().Build(t.Context(), task)
	check(t, err, sampling.InvalidConfig, "trainer ./focal-trainer: INVALID_CONFIG: option gama: unknown; did you mean gamma?; *")
}
