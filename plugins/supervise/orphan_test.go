package supervise_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// hostUntilKilled is the host process of TestPluginsFollowTheirHost; with a file to note its number in, the plugin hangs
// before it serves.
func hostUntilKilled(note ...string) {
	if len(note) > 0 {
		_, err := supervise.Launch(context.Background(), supervise.Spec{Kind: sampling.KindPlanner, Name: "notes", Env: []string{"NOTE=" + note[0]}})
		panic(err)
	}
	p, err := supervise.Launch(context.Background(), supervise.Spec{Kind: sampling.KindPlanner, Name: "calm"})
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(itoa(p.Pid()) + "\n")
	select {}
}

// follows kills a host and waits for the end of its plugin.
func follows(t *testing.T, pid int, host *exec.Cmd) {
	t.Helper()
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("plugin %d outlives its host", pid)
		}
	}
}

func TestPluginsFollowTheirHost(t *testing.T) {
	tmp := shortDir(t)
	for range 2 { // the second host removes what the first one could not, an hour later
		host := exec.Command(os.Args[0], "__host")
		host.Env = append(os.Environ(), "TMPDIR="+tmp)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		pid := readInt(t, out)
		folders, _ := filepath.Glob(filepath.Join(tmp, "*"))
		if len(folders) != 1 {
			t.Errorf("folders %v, expected that of the host alone", folders)
		}
		follows(t, pid, host)
		hourAgo := time.Now().Add(-time.Hour)
		for _, folder := range folders {
			if err := os.Chtimes(folder, hourAgo, hourAgo); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPluginsThatDoNotServeYetFollowTheirHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	note := filepath.Join(t.TempDir(), "pid")
	host := exec.Command(os.Args[0], "__host", note)
	host.Env = append(os.Environ(), "TMPDIR="+shortDir(t))
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for deadline := time.Now().Add(10 * time.Second); pid == 0; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(note)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		if time.Now().After(deadline) {
			t.Fatal("the plugin does not start")
		}
	}
	follows(t, pid, host)
}
