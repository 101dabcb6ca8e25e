package onnx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// Report is what `mdmhost runtime check` prints: what would run here, and why the rest would not.
type Report struct {
	Library      string   `json:"library"`                // path of the library, "" if there is none
	Version      string   `json:"version"`                // its release
	API          int      `json:"api"`                    // version of the C API that this build needs
	Providers    []string `json:"providers"`              // execution providers that the library was built with
	CUDA         bool     `json:"cuda"`                   // a session on CUDA can be set up
	CUDAMissing  string   `json:"cuda_missing,omitempty"` // why not
	Nvidia       []string `json:"nvidia,omitempty"`       // nvidia libraries that were loaded for CUDA, and those that failed with the reason
	Instructions string   `json:"instructions"`           // vector instructions of the fused head: avx512, avx2 or baseline
	Problem      string   `json:"problem,omitempty"`      // why nothing can run, or ""
}

// Check looks for the library with o's Library, LibraryDirs and Device, and tries what can be tried without a model.
func Check(o Options) Report {
	r := Report{API: capi.API, Instructions: capi.Instructions()}
	path, err := FindLibrary(o.Library)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	r.Library = path
	if library, err := capi.Open(path); library != nil {
		r.Version = library.Version
	} else if err != nil {
		r.Problem = fmt.Sprintf("%s: %v", path, err)
		return r
	}
	library, err := load(path)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	if r.Providers, err = library.Providers(); err != nil {
		r.Problem = err.Error()
		return r
	}
	slices.Sort(r.Providers)
	// The provider is appended to session options that nobody uses.
	e := engine{options: Options{LibraryDirs: o.LibraryDirs, Device: o.Device, ProviderOptions: o.ProviderOptions}, library: library}
	setup, err := e.sessionOptions("")
	if err == nil {
		err = e.appendCUDA(setup)
		_ = setup.Destroy()
	}
	if r.CUDA = err == nil; err != nil {
		r.CUDAMissing = err.Error()
	}
	r.Nvidia = e.nvidia
	return r
}

// String lays the report out for people, one fact a line.
func (r Report) String() string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-14s%s\n", name, value) }
	if r.Library != "" {
		line("library", r.Library)
		line("version", fmt.Sprintf("%s (needs 1.%d or newer)", r.Version, r.API))
	}
	if len(r.Providers) > 0 {
		line("providers", strings.Join(r.Providers, ", "))
	}
	switch {
	case r.CUDA:
		line("cuda", "available")
	case r.CUDAMissing != "":
		line("cuda", "not available: "+r.CUDAMissing)
	}
	for _, n := range r.Nvidia {
		line("nvidia", n)
	}
	line("instructions", r.Instructions)
	if r.Problem != "" {
		line("problem", r.Problem)
	}
	return b.String()
}
