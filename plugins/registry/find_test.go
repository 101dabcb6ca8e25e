package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

// The places in their order, each hidden by the one before.
func TestSearchOrder(t *testing.T) {
	here(t)
	p := places(t, "../first"+string(os.PathListSeparator)+"../second")
	find := func(name string) string {
		t.Helper()
		got, err := registry.Find(sampling.KindPlanner, name, p, []string{"eb"})
		if err != nil {
			return err.Error()
		}
		return string(got.Place) + " " + got.Path
	}
	if got := find("calm"); got != `planner calm: INVALID_CONFIG: no planner "calm"; there are eb; a binary of your own is named by its path, such as ./calm` {
		t.Error(got)
	}
	plugin(t, filepath.Join(p.User.Plugins, "calm"), nil)
	if got := find("calm"); got != "user "+filepath.Join(p.User.Plugins, "calm") {
		t.Error(got)
	}
	plugin(t, ".mdmhost/plugins/calm", nil)
	if got := find("calm"); got != "project .mdmhost/plugins/calm" {
		t.Error(got)
	}
	write(t, "../second/calm", "#!/bin/sh\n") // a bare executable
	if got := find("calm"); got != "path ../second/calm" {
		t.Error(got)
	}
	write(t, "../first/calm", "no program")
	write(t, "../first/eb/x", "any folder")
	if got := find("calm"); got != "path ../second/calm" {
		t.Error(got)
	}
	plugin(t, "../first/calm2", map[string]string{"plugin.yaml": strings.Replace(manifest, "calm", "calm2", 1)})
	if got := find("calm2"); got != "path ../first/calm2" {
		t.Error(got)
	}
	if got := find("./../first/calm2"); got != "given ./../first/calm2" {
		t.Error(got)
	}
	if got := find("clm2"); !strings.Contains(got, "did you mean calm2?") {
		t.Error(got)
	}
	if got := find("./none"); !strings.Contains(got, "there is no file ./none; check the path") {
		t.Error(got)
	}
	if got := find("../first/eb"); !strings.Contains(got, "is a folder without a plugin.yaml; name the plugin's binary") {
		t.Error(got)
	}
	var all []string
	for _, one := range registry.List(p) {
		all = append(all, one.Path)
	}
	if diff := cmp.Diff([]string{"../second/calm", ".mdmhost/plugins/calm", "../first/calm2"}, all); diff != "" {
		t.Error(diff) // of a bare executable the kind is not known: it hides none
	}
}

// A plugin of another kind is passed over; one that is broken is not.
func TestKindsAndBrokenPlugins(t *testing.T) {
	p := here(t)
	plugin(t, ".mdmhost/plugins/calm", map[string]string{"plugin.yaml": strings.Replace(manifest, "planner", "sampler", 1)})
	if _, err := registry.Find(sampling.KindPlanner, "calm", p, nil); err == nil || !strings.Contains(err.Error(), ".mdmhost/plugins/calm is a sampler, expected a planner; give it with --sampler") {
		t.Errorf("error %v", err)
	}
	if _, err := registry.Find(sampling.KindTrainer, "./.mdmhost/plugins/calm", p, nil); err == nil || !strings.Contains(err.Error(), "is a sampler, expected a trainer") {
		t.Errorf("error %v", err)
	}
	user := plugin(t, filepath.Join(p.User.Plugins, "calm"), nil)
	if got, err := registry.Find(sampling.KindPlanner, "calm", p, nil); err != nil || got.Path != user {
		t.Errorf("%v, %v", got, err)
	}
	write(t, ".mdmhost/plugins/calm/plugin.yaml", "name: calm\n")
	if _, err := registry.Find(sampling.KindPlanner, "calm", p, nil); err == nil || !strings.Contains(err.Error(), ".mdmhost/plugins/calm/plugin.yaml: 6 problems") {
		t.Errorf("error %v", err)
	}
	must(t, os.Remove(".mdmhost/plugins/calm/plugin.yaml"))
	if _, err := registry.Find(sampling.KindPlanner, "calm", p, nil); err == nil || !strings.Contains(err.Error(), "a plugin's folder holds a plugin.yaml") {
		t.Errorf("error %v", err)
	}
	plugin(t, ".mdmhost/plugins/calmer", nil)
	if _, err := registry.Find("", "calmer", p, nil); err == nil || !strings.Contains(err.Error(), "its plugin.yaml names it calm; a plugin lies in a folder of its own name") {
		t.Errorf("error %v", err)
	}
}

func TestCommand(t *testing.T) {
	here(t)
	plugin(t, "../calm", map[string]string{"plugin.yaml": manifest + "args: [-x, y]\n"})
	p, err := registry.Open("../calm")
	must(t, err)
	path, args, err := p.Command()
	if diff := cmp.Diff([]string{"-x", "y"}, args); err != nil || path != "../calm/run" || diff != "" {
		t.Errorf("%s %v, %v", path, args, err)
	}
}

// The project is the nearest folder upwards that says so.
func TestProject(t *testing.T) {
	here(t)
	write(t, "a/b/c/x", "x")
	t.Chdir("a/b/c")
	if p := places(t, ""); p.Project.Lock != "mdmhost.lock" || p.Path != nil {
		t.Errorf("%+v", p)
	}
	write(t, "../../mdmhost.lock", "version: 1\n")
	if p := places(t, "x::y"); p.Project.Lock != "../../mdmhost.lock" || p.Project.Plugins != "../../.mdmhost/plugins" || len(p.Path) != 2 {
		t.Errorf("%+v", p)
	}
	must(t, os.Mkdir("../.mdmhost", 0o755))
	if p := places(t, ""); p.Project.Lock != "../mdmhost.lock" {
		t.Errorf("%+v", p)
	}
	t.Setenv("XDG_DATA_HOME", "relative") // which the specification tells programs to ignore
	t.Setenv("HOME", "/home/somebody")
	if p := places(t, ""); p.User.Plugins != "/home/somebody/.local/share/mdmhost/plugins" {
		t.Errorf("%+v", p)
	}
	t.Setenv("HOME", "")
	if _, err := places(t, "").Home(true); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_DATA_HOME") {
		t.Errorf("error %v", err)
	}
}
