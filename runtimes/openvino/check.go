package openvino

import (
	"fmt"
	"strings"
)

// Report is what `mdmhost runtime check` prints of this runtime: what would run here, or why nothing can.
type Report struct {
	Library string   `json:"library"`           // path of the library, "" if there is none
	Version string   `json:"version"`           // its build
	Devices []Device `json:"devices"`           // what it finds to run models on
	Problem string   `json:"problem,omitempty"` // why nothing can run, or ""
}

// Device is a device as OpenVINO names it.
type Device struct {
	Name       string   `json:"name"`       // such as CPU or GPU.0
	Title      string   `json:"title"`      // of the maker
	Properties []string `json:"properties"` // that runtime.provider_options may set
}

// Check looks for the library, and asks it for devices.
func Check(o Options) Report {
	r := Report{Devices: []Device{}}
	failed := func(err error) Report {
		r.Problem = err.Error()
		return r
	}
	library, err := load(o.Library)
	if err != nil {
		return failed(err)
	}
	r.Library, r.Version = library.Path, library.Version
	names, err := library.Devices()
	if err != nil {
		return failed(fmt.Errorf("OpenVINO: its devices: %w", err))
	}
	for _, name := range names {
		d := Device{Name: name}
		if d.Title, err = library.Property(name, "FULL_DEVICE_NAME"); err != nil {
			return failed(fmt.Errorf("OpenVINO: device %s: %w", name, err))
		}
		supported, err := library.Property(name, "SUPPORTED_PROPERTIES")
		if err != nil {
			return failed(fmt.Errorf("OpenVINO: device %s: %w", name, err))
		}
		d.Properties = strings.Fields(supported)
		r.Devices = append(r.Devices, d)
	}
	if want := providers[o.Provider]; want != "" && !has(names, o.Provider) {
		r.Problem = fmt.Sprintf("provider %s: OpenVINO finds no such device (its devices: %s); use provider cpu or auto", o.Provider, strings.Join(names, ", "))
	}
	return r
}

// String lays the report out for people, one fact a line.
func (r Report) String() string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%-14s%s\n", name, value) }
	if r.Library != "" {
		line("library", r.Library)
		line("version", r.Version)
	}
	for _, d := range r.Devices {
		line("device", d.Name+"  "+d.Title)
		line("properties", strings.Join(d.Properties, " "))
	}
	if r.Problem != "" {
		line("problem", r.Problem)
	}
	return b.String()
}
