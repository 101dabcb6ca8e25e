package supervise_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// python starts one of the plugins of plugins/python/tests/plugins.
func python(t *testing.T, file, name string) supervise.Spec {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "python"))
	if err != nil {
		t.Fatal(err)
	}
	return supervise.Spec{Path: kit(t), Args: []string{"-B", filepath.Join(folder, "tests", "plugins", file), name}, Name: name, Env: []string{"PYTHONPATH=" + folder}}
}

func inPython(t *testing.T, name string) supervise.Spec { return python(t, "planners.py", name) }

// logging collects what a plugin logs, as lines of JSON.
func logging(spec supervise.Spec) (supervise.Spec, *bytes.Buffer) {
	var lines bytes.Buffer
	spec.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &lines, JSONFormat: true})
	return spec, &lines
}

func TestAPlannerInPython(t *testing.T) {
	for _, name := range []string{"calm", "greets", "batch"} {
		p, err := launch(t, inPython(t, name))
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if name != "batch" {
			want, _ := calm().Describe(ctx)
			if diff := cmp.Diff(want, p.Description()); diff != "" {
				t.Error(diff)
			}
		}
		planner := p.Planner()
		for range 2 { // runs
			needs, err := planner.Start(ctx, sampling.Run{ID: "r", Options: []byte(`{"k": 2}`)})
			if err != nil || needs.String() != "entropy(on=model)" {
				t.Fatalf("needs %v, %v", needs, err)
			}
			decidesAsCalm(t, planner)
			if err := planner.End(ctx); err != nil {
				t.Fatal(err)
			}
		}
		_, err = plan(planner, step())
		check(t, err, sampling.ContractViolation, "planner "+name+": CONTRACT_VIOLATION: Plan came before Start; start the run first")
		_, err = planner.Start(ctx, sampling.Run{Options: []byte(`{"k": 0, "gama": 1}`)})
		check(t, err, sampling.InvalidConfig, "planner "+name+": INVALID_CONFIG: option k: expected a whole number of at least 1, found 0; option gama: unknown; did you mean gamma?; *")
	}
}

func TestPythonDescribesItselfAsGo(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "calm-planner")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "examples", "calm-planner")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	spec := python(t, "calm.py", "describe")
	describe := exec.Command(spec.Path, spec.Args...)
	describe.Env = spec.Env
	var described [2]any
	for i, cmd := range []*exec.Cmd{exec.Command(binary, "describe"), describe} {
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &described[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(described[0], described[1]); diff != "" {
		t.Error(diff)
	}
}

// TestEverythingArrivesInPython compares decisions that hold checksums of every column with those of the same planner in process.
func TestEverythingArrivesInPython(t *testing.T) {
	memory, err := shm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = memory.Close() })
	spec := inPython(t, "mirror")
	spec.Memory = memory
	_, remote := started(t, spec)
	local := mirror()
	if _, err := local.Start(context.Background(), sampling.Run{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawStep(t)
		if rapid.Bool().Draw(t, "shared") { // logits where the host's runtime writes them; the memory grows
			for i := range s.Rows {
				shared, err := memory.Floats(len(s.Rows[i].Logits))
				if err != nil {
					t.Fatal(err)
				}
				copy(shared, s.Rows[i].Logits)
				s.Rows[i].Logits = shared
			}
		}
		want, err := plan(local, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan(remote, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPythonRemembersRows(t *testing.T) {
	_, planner := started(t, inPython(t, "counts"))
	for want := range 3 {
		s := step()
		s.Rows[0].Step, s.Rows[1].Step, s.Rows[1].Slot = want, want, 1
		out, err := plan(planner, s)
		if err != nil || out[0].Metrics["calls"] != float64(want+1) || out[1].Metrics["calls"] != float64(want+1) {
			t.Fatal(out, err)
		}
	}
}

func TestPythonFollowsItsHost(t *testing.T) {
	spec := inPython(t, "calm")
	host := exec.Command(os.Args[0], append([]string{"__host-python", spec.Path, spec.Env[0]}, spec.Args...)...)
	tmp := shortDir(t)
	host.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readInt(t, out)
	follows(t, pid, host)
}

// init makes this binary the host process of TestPythonFollowsItsHost.
func init() {
	if len(os.Args) < 4 || os.Args[1] != "__host-python" {
		return
	}
	p, err := supervise.Launch(context.Background(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm", Path: os.Args[2], Env: os.Args[3:4], Args: os.Args[4:]})
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(itoa(p.Pid()) + "\n")
	select {}
}
