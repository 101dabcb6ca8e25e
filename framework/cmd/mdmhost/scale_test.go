package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// kubernetesJob is as much of a batch/v1 Job (Kubernetes 1.33) as the files of configs/kubernetes use; other fields are errors.
type kubernetesJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int
		Parallelism          int
		BackoffLimit         *int   `yaml:"backoffLimit"`
		BackoffLimitPerIndex *int   `yaml:"backoffLimitPerIndex"`
		MaxFailedIndexes     *int   `yaml:"maxFailedIndexes"`
		PodReplacementPolicy string `yaml:"podReplacementPolicy"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action          string
				OnPodConditions []struct{ Type, Status string } `yaml:"onPodConditions"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct{ Spec kubernetesPod }
	}
}

type kubernetesPod struct {
	Subdomain                     string
	RestartPolicy                 string `yaml:"restartPolicy"`
	TerminationGracePeriodSeconds int    `yaml:"terminationGracePeriodSeconds"`
	Containers                    []kubernetesContainer
	Volumes                       []struct {
		Name                  string
		PersistentVolumeClaim map[string]string `yaml:"persistentVolumeClaim"`
		EmptyDir              map[string]string `yaml:"emptyDir"`
	}
}

type kubernetesContainer struct {
	Name, Image   string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   map[string]map[string]string `yaml:"valueFrom"`
	}
	Ports        []map[string]int
	Resources    struct{ Requests, Limits map[string]string }
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// kubernetes reads the jobs of a file; what else it holds is a headless service.
func kubernetes(t *testing.T, name string) kubernetesJob {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(t), "configs", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	var job kubernetesJob
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var kind struct{ Kind string }
		if err := doc.Decode(&kind); err != nil || kind.Kind != "Job" {
			continue
		}
		one, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		strict := yaml.NewDecoder(bytes.NewReader(one))
		strict.KnownFields(true)
		if err := strict.Decode(&job); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if job.APIVersion != "batch/v1" || len(job.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%s: %+v", name, job)
	}
	return job
}

// run runs the job's container as the engine does, with more variables, which outweigh its own.
func (j kubernetesJob) run(t *testing.T, dir string, more ...string) {
	t.Helper()
	c := j.Spec.Template.Spec.Containers[0]
	cmd := exec.Command(c.Command[0], append(c.Command[1:], c.Args...)...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.Env = append(cmd.Env, more...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s with %v: %v\n%s", j.Metadata.Name, more, err, said)
	}
}

func (j kubernetesJob) env(name string) string {
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// oneRun writes prompts into dir and samples them in one process; what follows shares the run.
func oneRun(t *testing.T, dir string) (want string) {
	t.Helper()
	var prompts strings.Builder
	for i := range 5 {
		fmt.Fprintf(&prompts, "{\"infill\": \"%d%s\"}\n{\"infill\": \"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\"}\n", i+1, strings.Repeat(".", 80))
	}
	if err := os.WriteFile(filepath.Join(dir, "prompts.jsonl"), []byte(prompts.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "one.jsonl")
	library, err := onnx.FindLibrary("") // programs run elsewhere than the repository, where it may lie
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(onnx.LibraryVariable, library)
	cmd := exec.Command("mdmhost", "sample", "--model", "sudoku", "--prompts", filepath.Join(dir, "prompts.jsonl"), "--seed", "1", "--out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return timeless(t, out)
}

// timeless is a file of answers without what clocks said.
func timeless(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"ms":[0-9.e-]+`).ReplaceAllString(string(text), `"ms":0`)
}

// The pods of the Indexed Job, run one by one as Kubernetes starts them, and the job that merges give what one process does. A pod that is
// started again, whose index was done, changes nothing.
func TestKubernetesShards(t *testing.T) {
	dir := t.TempDir()
	want := oneRun(t, dir)
	job := kubernetes(t, "sample-job.yaml")
	spec := job.Spec
	if spec.CompletionMode != "Indexed" || job.env("SHARDS") != fmt.Sprint(spec.Completions) || spec.Template.Spec.RestartPolicy != "Never" || *spec.BackoffLimitPerIndex < 1 ||
		len(spec.PodFailurePolicy.Rules) != 1 || spec.PodReplacementPolicy != "Failed" || spec.Template.Spec.TerminationGracePeriodSeconds < 30 {
		t.Errorf("%+v", spec)
	}
	for i := range spec.Completions {
		job.run(t, dir, "JOB_COMPLETION_INDEX="+strconv.Itoa(i), "DATA="+dir, "MODEL=sudoku", "THREADS=1")
	}
	job.run(t, dir, "JOB_COMPLETION_INDEX=2", "DATA="+dir, "MODEL=sudoku", "THREADS=2")
	// What the glob of the merge finds is answers alone.
	kubernetes(t, "merge-job.yaml").run(t, dir, "DATA="+dir)
	if diff := cmp.Diff(want, timeless(t, filepath.Join(dir, "answers.jsonl"))); diff != "" {
		t.Error(diff)
	}
}

// batch is a Slurm script with its directives, run with stand-ins for the commands of Slurm.
type batch struct {
	path       string
	directives map[string]string
	bin        string // of the stand-ins
}

func slurm(t *testing.T, name, srun string) batch {
	t.Helper()
	b := batch{path: filepath.Join(repository(t), "configs", "slurm", name), directives: map[string]string{}, bin: t.TempDir()}
	text, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"job-name", "array", "cpus-per-task", "mem", "time", "signal", "requeue", "open-mode", "output", "nodes", "ntasks-per-node", "gpus-per-node"}
	for _, d := range regexp.MustCompile(`(?m)^#SBATCH --([a-z-]+)(?:=(\S+))?$`).FindAllStringSubmatch(string(text), -1) {
		if b.directives[d[1]] = d[2]; !slices.Contains(known, d[1]) {
			t.Errorf("%s: unknown directive --%s", name, d[1])
		}
	}
	if n := strings.Count(string(text), "\n#SBATCH"); n != len(b.directives) {
		t.Errorf("%s: %d directives, %d of them read", name, n, len(b.directives))
	}
	for command, does := range map[string]string{
		"srun":     srun,
		"scontrol": `if [ "$1" = show ]; then printf 'node1\nnode2\n'; else echo "$@" >>"$CALLS"; fi`,
		"torchrun": `echo torchrun "$@" >>"$CALLS"`,
	} {
		if err := os.WriteFile(filepath.Join(b.bin, command), []byte("#!/usr/bin/env bash\n"+does+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run returns the exit code, what was said, and the calls of stand-ins.
func (b batch) run(t *testing.T, dir string, more ...string) (code int, said, calls string) {
	t.Helper()
	record := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command("bash", b.path)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PATH="+b.bin+":"+os.Getenv("PATH"), "CALLS="+record, "DATA="+dir), more...)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	made, err := os.ReadFile(record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text), strings.TrimSpace(string(made))
}

// The tasks of the job array, with the variables that Slurm gives them, and the merge give what one process does. A task whose time is over is
// queued again.
func TestSlurmShards(t *testing.T) {
	dir := t.TempDir()
	want := oneRun(t, dir)
	b := slurm(t, "sample.sbatch", `exec "$@"`)
	var last int
	if n, err := fmt.Sscanf(b.directives["array"], "0-%d", &last); n != 1 || err != nil || !strings.HasPrefix(b.directives["signal"], "TERM@") {
		t.Fatalf("%v", b.directives)
	}
	task := func(i, count int) []string {
		return []string{"SLURM_ARRAY_JOB_ID=77", "SLURM_ARRAY_TASK_ID=" + strconv.Itoa(i), "SLURM_ARRAY_TASK_COUNT=" + strconv.Itoa(count), "SLURM_CPUS_PER_TASK=1", "MODEL=sudoku"}
	}
	const tasks = 3
	for i := range tasks {
		if code, said, calls := b.run(t, dir, task(i, tasks)...); code != 0 || calls != "" {
			t.Fatalf("task %d: exit code %d, calls %q\n%s", i, code, calls, said)
		}
	}
	if code, said, calls := slurm(t, "merge.sbatch", `exec "$@"`).run(t, dir); code != 0 || calls != "" || !strings.Contains(said, "10 rows of 3 shards") {
		t.Fatalf("exit code %d, calls %q\n%s", code, calls, said)
	}
	if diff := cmp.Diff(want, timeless(t, filepath.Join(dir, "answers.jsonl"))); diff != "" {
		t.Error(diff)
	}
	if code, said, calls := slurm(t, "sample.sbatch", "exit 143").run(t, dir, task(1, tasks)...); code != 143 || calls != "requeue 77_1" {
		t.Errorf("exit code %d, calls %q\n%s", code, calls, said)
	}
	if code, said, calls := slurm(t, "sample.sbatch", "exit 2").run(t, dir, task(1, tasks)...); code != 2 || calls != "" {
		t.Errorf("exit code %d, calls %q\n%s", code, calls, said)
	}
}

// Both files of training start one torchrun a machine, which meet at the first machine, with the script of the export.
func TestTrainingOnTwoMachines(t *testing.T) {
	dir := t.TempDir()
	script := fmt.Sprintf("%s/model/train.py --data %s/rows.txt --out %s/trained --steps 1000 --batch 64", dir, dir, dir)
	b := slurm(t, "train.sbatch", `exec "$@"`)
	if b.directives["nodes"] != "2" || b.directives["ntasks-per-node"] != "1" {
		t.Errorf("%v", b.directives)
	}
	code, said, calls := b.run(t, dir, "SLURM_JOB_NODELIST=node[1-2]", "SLURM_NNODES=2", "SLURM_JOB_ID=78", "SLURM_CPUS_PER_TASK=8", "SLURM_GPUS_ON_NODE=4")
	if diff := cmp.Diff("torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-id 78 --rdzv-endpoint node1:29500 "+script, calls); code != 0 || diff != "" {
		t.Errorf("exit code %d: %s\n%s", code, said, diff)
	}
	job := kubernetes(t, "train-job.yaml")
	if job.env("NODES") != fmt.Sprint(job.Spec.Completions) || job.Spec.Parallelism != job.Spec.Completions || job.Spec.Template.Spec.Subdomain != job.Metadata.Name {
		t.Errorf("%+v", job.Spec)
	}
	record := filepath.Join(dir, "calls")
	job.run(t, dir, "DATA="+dir, "JOB_COMPLETION_INDEX=1", "CALLS="+record, "PATH="+b.bin+":"+os.Getenv("PATH"))
	made, err := os.ReadFile(record)
	if diff := cmp.Diff("torchrun --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr mdmhost-train-0.mdmhost-train --master-port 29500 "+script+"\n", string(made)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
