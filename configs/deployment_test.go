package configs_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// The files that start a server hold settings that load, and give it the time that it takes to drain.
func TestServersAreDeployed(t *testing.T) {
	text, err := os.ReadFile("kubernetes/serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type probe struct {
		HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	}
	type object struct {
		Kind string
		Data map[string]string
		Spec struct {
			Template struct {
				Spec struct {
					Grace      float64 `yaml:"terminationGracePeriodSeconds"`
					Containers []struct {
						Command        []string
						ReadinessProbe probe `yaml:"readinessProbe"`
						LivenessProbe  probe `yaml:"livenessProbe"`
					}
				}
			}
		}
	}
	found := map[string]object{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found[o.Kind] = o
	}
	file := filepath.Join(t.TempDir(), "serve.yaml")
	if err := os.WriteFile(file, []byte(found["ConfigMap"].Data["serve.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	pod := found["Deployment"].Spec.Template.Spec
	if len(pod.Containers) != 1 || pod.Grace <= cfg.Serve.Drain || cfg.Serve.Listen != "0.0.0.0:8080" {
		t.Errorf("the pod has %v s to end, and the server drains for %v s on %s", pod.Grace, cfg.Serve.Drain, cfg.Serve.Listen)
	}
	c := pod.Containers[0]
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" || strings.Join(c.Command[:2], " ") != "mdmhost serve" {
		t.Errorf("the container: %+v", c)
	}
	unit, err := os.ReadFile("systemd/mdmhost.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ExecStart=/usr/local/bin/mdmhost serve --config /etc/mdmhost/serve.yaml\n", "ExecReload=/bin/kill -HUP $MAINPID\n", "SuccessExitStatus=130 143\n", "KillMode=mixed\n"} {
		if !strings.Contains(string(unit), line) {
			t.Errorf("the unit of systemd lacks %s", line)
		}
	}
}
