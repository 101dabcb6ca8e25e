package train_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangedData: a run goes on with the data that it was begun with, from any working directory; a file that changed since is
// named, whether or not the number of rows is the same.
func TestChangedData(t *testing.T) {
	home := t.TempDir()
	settings := small(t, "run", "data.valid_fraction=0", "data.valid=valid.csv", "train.steps=5")
	table := strings.TrimPrefix(settings[1], "data.train=")
	text, err := os.ReadFile(table)
	must(t, err)
	for _, name := range []string{"train.csv", "valid.csv"} {
		must(t, os.WriteFile(filepath.Join(home, name), text, 0o600))
	}
	settings[1] = "data.train=train.csv"
	t.Chdir(home)
	_, err = run(t, context.Background(), settings...)
	must(t, err)
	if out, err := exec.Command("sha256sum", "-c", "run/data.sha256").CombinedOutput(); err != nil || !contains(string(out), home+"/valid.csv: OK") {
		t.Errorf("%s%v", out, err)
	}

	t.Chdir(t.TempDir())
	settings[0], settings[1] = "train.run="+home+"/run", "data.train="+home+"/train.csv"
	_, err = run(t, context.Background(), append(settings, "data.valid="+home+"/valid.csv")...)
	must(t, err)
	_, err = run(t, context.Background(), append(settings, "data.valid="+home+"/train.csv")...)
	wantError(t, err, "data.valid: was ", home+"/valid.csv")

	t.Chdir(home)
	for _, name := range []string{"train.csv", "valid.csv"} {
		other := strings.Replace(string(text), "aaaaaaaa", "baaabaaa", 1)
		must(t, os.WriteFile(name, []byte(other), 0o600))
		_, err = run(t, context.Background(), settings...)
		wantError(t, err, "run "+home+"/run: "+home+"/"+name+" changed since the run was begun; restore it, or name another run directory")
		must(t, os.WriteFile(name, text, 0o600))
	}
	_, err = run(t, context.Background(), settings...)
	must(t, err)
}
