package main

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mdmhost/mdmhost/framework/hub/hubtest"
)

// serveHub serves the directories DIR/OWNER/NAME as repositories, until the script ends: hub DIR [TOKEN]. With a token, who does not bring it
// is told that the repositories are gated. HF_ENDPOINT is the server's address.
func serveHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: hub DIR [TOKEN]")
	}
	h := hubtest.Start()
	ts.Defer(h.Close)
	repos, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "*"))
	ts.Check(err)
	for _, dir := range repos {
		files := map[string][]byte{}
		ts.Check(filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files[filepath.ToSlash(name)], err = os.ReadFile(path)
			return err
		}))
		h.Add(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), files)
	}
	if len(args) == 2 {
		h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
			own := "http://"+r.Host == h.URL // the second host has no use for the token, and must not see it
			if got := r.Header.Get("Authorization"); own == (got == "Bearer "+args[1]) && (own || got == "") {
				return false
			}
			w.Header().Set("X-Error-Code", "GatedRepo")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
	}
	ts.Setenv("HF_ENDPOINT", h.URL)
	if len(repos) == 0 {
		ts.Fatalf("%s holds no directories OWNER/NAME", args[0])
	}
}
