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
	Missing      Missing  `json:"missing,omitempty"`      // why providers cannot be had, cuda among them
	Instructions string   `json:"instructions"`           // vector instructions of the fused head: avx512, avx2 or baseline
	Problem      string   `json:"problem,omitempty"`      // why nothing can run, or ""
}

// Missing says why providers cannot be had, by their names in settings.
type Missing map[string]string

// Check looks for the library with o's Library, LibraryDirs and Device, and tries what can be tried without a model.
func Check(o Options) Report {
	r := Report{API: capi.API, Instructions: capi.Instructions()}
	provider := o.Provider
	if provider == "" || provider == "cpu" {
		provider = "auto" // the library that could do most
	}
	path, err := findLibrary(o.Library, provider)
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
	library, err := load(path, provider)
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	if r.Providers, err = library.Providers(); err != nil {
		r.Problem = err.Error()
		return r
	}
	slices.Sort(r.Providers)
	r.Missing = Missing{}
	for _, p := range providers {
		if p.name == plugin && o.ProviderLibrary == "" && provider != plugin {
			continue // nobody asks for one
		}
		e := engine{options: Options{LibraryDirs: o.LibraryDirs, Device: o.Device, ProviderLibrary: o.ProviderLibrary}, library: library}
		err := e.try(p)
		if err != nil {
			r.Missing[p.name] = err.Error()
		}
		if p.name == cuda {
			r.CUDA, r.CUDAMissing, r.Nvidia = err == nil, r.Missing[cuda], e.nvidia
		}
	}
	return r
}

// try appends a provider to session options that nobody uses.
func (e *engine) try(p *provider) error {
	have, err := e.library.Providers()
	if err != nil {
		return err
	}
	if p.listed != "" && !slices.Contains(have, p.listed) {
		return fmt.Errorf("not in this library; %s", p.source)
	}
	setup, err := e.sessionOptions("")
	if err != nil {
		return err
	}
	defer func() { _ = setup.Destroy() }()
	return e.appendOne(setup, p, nil)
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
	var elsewhere []string
	for _, p := range providers {
		switch why, missing := r.Missing[p.name]; {
		case missing && p.name != cuda && !slices.Contains(r.Providers, p.listed) && p.name != plugin:
			elsewhere = append(elsewhere, p.name)
		case missing:
			line(p.name, "not available: "+why)
		case slices.Contains(r.Providers, p.listed):
			line(p.name, "available")
		}
	}
	if len(elsewhere) > 0 && len(r.Providers) > 0 {
		line("elsewhere", strings.Join(elsewhere, ", ")+": in other libraries; --runtime NAME tells which")
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
