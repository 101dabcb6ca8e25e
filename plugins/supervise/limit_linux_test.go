package supervise_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

func TestAPluginThatTakesTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		limits supervise.Limits
		want   string
	}{
		"allocates":   {supervise.Limits{Memory: 512 << 20, MemoryName: "plugins.memory"}, "planner allocates: EXHAUSTED: it took more than the 512 MiB of memory that it may have (*out of memory*); raise plugins.memory"},
		"opens-files": {supervise.Limits{OpenFiles: 64}, "planner opens-files: EXHAUSTED: it opened more than the 64 files that it may have (too many open files); raise its limit on open files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, planner := started(t, supervise.Spec{Name: name, Limits: c.limits})
			_, err := plan(planner, step())
			check(t, err, sampling.Exhausted, c.want)
		})
	}
}

// A plugin that cannot even start within its limit says so.
func TestALimitBelowTheStart(t *testing.T) {
	_, err := launch(t, supervise.Spec{Name: "calm", Limits: supervise.Limits{Memory: 48 << 20}})
	check(t, err, sampling.Exhausted, "planner calm: EXHAUSTED: it took more than the 48 MiB of memory that it may have (*); raise its limit on memory")
}

// Go's C side says in one line why it aborts, ahead of many about where.
func TestALongReportOfALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "aborts")
	script := "#!/bin/sh\necho 'runtime/cgo: pthread_create failed: Resource temporarily unavailable' >&2\necho 'SIGABRT: abort' >&2\n" +
		"i=0; while [ $i -lt 100 ]; do echo \"rax $i\" >&2; i=$((i+1)); done\nexit 2\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := launch(t, supervise.Spec{Path: path, Name: "aborts", Limits: supervise.Limits{Memory: 64 << 20}})
	check(t, err, sampling.Exhausted, "planner aborts: EXHAUSTED: it took more than the 64 MiB of memory that it may have (pthread_create failed); raise its limit on memory")
}

// One that has not even the memory to say so may have died of its limit.
func TestADeathWithoutAWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mute")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nkill -SEGV $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := launch(t, supervise.Spec{Path: path, Name: "mute", Limits: supervise.Limits{Memory: 64 << 20}})
	check(t, err, sampling.Crashed, "planner mute: CRASHED: it was ended by signal segmentation fault before the handshake; is 64 MiB of memory enough for it to start? raise its limit on memory")
}

func TestLimitsHoldFromTheStart(t *testing.T) {
	p, err := launch(t, supervise.Spec{Name: "calm", Limits: supervise.Limits{Memory: 1 << 30, OpenFiles: 99}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if len(line) > 46 {
			got[strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:])[:2], " ")
		}
	}
	for what, want := range map[string]string{"Max data size": "1073741824 1073741824", "Max core file size": "0 0", "Max open files": "99 99"} {
		if got[what] != want {
			t.Errorf("%s: %s, expected %s", what, got[what], want)
		}
	}
}

// A limit above the system's own cannot be set, and the process that it was for is gone.
func TestALimitAboveTheSystems(t *testing.T) {
	_, err := launch(t, supervise.Spec{Name: "calm", Limits: supervise.Limits{OpenFiles: 1 << 40, OpenFilesName: "plugins.open_files"}})
	check(t, err, sampling.InvalidConfig, "planner calm: INVALID_CONFIG: limit: its open files cannot be limited to *: operation not permitted; *")
}

func TestLimitsBelowZero(t *testing.T) {
	_, err := launch(t, supervise.Spec{Name: "calm", Limits: supervise.Limits{Memory: -1}})
	check(t, err, sampling.InvalidConfig, "planner calm: INVALID_CONFIG: its limits are -1 bytes and 0 files, *")
}
