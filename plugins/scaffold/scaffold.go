// Package scaffold writes the project of a new plugin: sources, tests, manifest, CI, and the kit that it is built with. A project
// needs this repository for nothing. What it holds lies in the folder template, as files that are compiled and tested here.
package scaffold

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// The languages of projects.
const (
	Go     = "go"
	Python = "python"
)

// Languages are those of projects, the usual first.
var Languages = []string{Go, Python}

// Project is what is to be written.
type Project struct {
	Name     string        // lower-case letters, digits and dashes between them
	Kind     sampling.Kind // one of sampling.Kinds
	Language string        // one of Languages
	Dir      string        // the new folder; "" is one of the plugin's name, here
}

// Folder is where the project comes to lie.
func (p Project) Folder() string {
	if p.Dir == "" {
		return p.Name
	}
	return p.Dir
}

// Ident is the name as a Python identifier.
func (p Project) Ident() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Check refuses a project that cannot be, and says why; nothing is written.
func (p Project) Check() error {
	if !slices.Contains(sampling.Kinds, p.Kind) {
		return fmt.Errorf("kind %q: expected one of %v", p.Kind, sampling.Kinds)
	}
	if !slices.Contains(Languages, p.Language) {
		return fmt.Errorf("language %q: expected one of %v", p.Language, Languages)
	}
	return p.checkName()
}

// Write writes the project, as a whole or not at all, and returns the paths of its files below [Project.Folder], sorted.
func (p Project) Write() ([]string, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
	}
	return paths, place(p.Folder(), files)
}

// files are those of the project: what its kind and its language are made of, and the kit.
func (p Project) files() ([]file, error) {
	kit := goKit
	if p.Language == Python {
		kit = pythonKit
	}
	files, err := p.render()
	if err != nil {
		return nil, err
	}
	more, err := kit()
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// Steps are the two commands that come next, from the folder in which the project was made.
func (p Project) Steps() [2]string {
	build := map[string]string{Go: "go build", Python: "./setup"}[p.Language]
	first := fmt.Sprintf("cd %s && %s", filepath.ToSlash(p.Folder()), build)
	if p.Kind != sampling.KindTrainer {
		return [2]string{first, fmt.Sprintf("mdmhost sample --%s ./%s", p.Kind, p.Name)}
	}
	return [2]string{first + " && mdmhost data make brackets --fill --out data --num 2000 --test 50",
		fmt.Sprintf("mdmhost train --config train.yaml --trainer ./%s", p.Name)}
}
