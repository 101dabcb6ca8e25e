package config

import (
	"fmt"
	"strings"
	"testing"
)

// What is shown of a setting, or of one that is wrong, holds no credentials; its value does.
func TestSecretsAreHidden(t *testing.T) {
	given := func(key, value string) Assignment { return Assignment{Key: key, Value: value, Flag: "--set " + key} }
	cfg, err := Load(Sources{Flags: []Assignment{
		given("runtime.kind", "openinference"), given("runtime.endpoints", `["http://gpu:8000/v2","grpc://plain:8001"]`),
		given("runtime.headers.authorization", "Bearer secret"), given("runtime.headers.x-key", "$KEY"), given("serve.otlp", "https://top@secret@host/v1?key=secret"),
		given("hub.endpoint", "https://hub.example"), given("plugins.env", `["HOME","KEY=secret"]`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"runtime.endpoints": "[http://gpu:8000/v2 grpc://plain:8001]", "runtime.headers.authorization": "***", "runtime.headers.x-key": "$KEY",
		"serve.otlp": "https://***@host/v1?***", "hub.endpoint": "https://hub.example", "plugins.env": "[HOME KEY=***]"}
	for _, e := range cfg.Entries() {
		shown := fmt.Sprint(e.Shown())
		if text, ok := want[e.Key]; ok && shown != text {
			t.Errorf("%s: shown as %s, expected %s", e.Key, shown, text)
		}
		if strings.Contains(shown, "secret") {
			t.Errorf("%s: shown as %s", e.Key, shown)
		}
	}
	if cfg.Runtime.Headers["authorization"] != "Bearer secret" || cfg.Serve.OTLP != "https://top@secret@host/v1?key=secret" {
		t.Errorf("the values themselves: %v, %s", cfg.Runtime.Headers, cfg.Serve.OTLP)
	}
	for key, value := range map[string]string{"runtime.endpoints": `["http://me:top@secret@gpu"]`, "plugins.env": `["1=secret"]`} {
		if _, err := Load(Sources{Flags: []Assignment{given(key, value)}}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := Load(Sources{Flags: []Assignment{given("runtime.endpoints", "[secret")}}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a list that is none: %v", err)
	}
}
