package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Places are where plugins are looked for.
type Places struct {
	Path    []string // folders that hold plugins by their names
	Project Home     // of the working directory
	User    Home     // the zero Home: the user has none
}

// Home holds installed plugins and pins them.
type Home struct {
	Plugins string // folder that holds each plugin under its name
	Lock    string // path of its mdmhost.lock
}

// FindPlaces finds the places for the working directory. path are folders as plugins.path gives them, separated as in PATH. The
// project is the nearest folder from the working directory upwards that has a mdmhost.lock or a .mdmhost, else the working
// directory. Paths are relative where that is shorter to read.
func FindPlaces(path string) (Places, error) {
	var p Places
	for _, folder := range filepath.SplitList(path) {
		if folder != "" {
			p.Path = append(p.Path, folder)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return p, fmt.Errorf("the project of the working directory: %w; change into another directory", err)
	}
	p.Project = projectOf(here)
	if data := userData(); data != "" {
		p.User = Home{filepath.Join(data, "mdmhost", "plugins"), filepath.Join(data, "mdmhost", LockFile)}
	}
	return p, nil
}

// projectOf walks upwards from here.
func projectOf(here string) Home {
	up := "."
	for dir := here; ; dir, up = filepath.Dir(dir), filepath.Join("..", up) {
		for _, mark := range []string{LockFile, ".mdmhost"} {
			if _, err := os.Lstat(filepath.Join(dir, mark)); err == nil {
				return homeIn(up)
			}
		}
		if dir == filepath.Dir(dir) {
			return homeIn(".")
		}
	}
}

func homeIn(project string) Home {
	return Home{filepath.Join(project, ".mdmhost", "plugins"), filepath.Join(project, LockFile)}
}

// userData is where the user's programs keep their data: $XDG_DATA_HOME or ~/.local/share, "" without a home.
func userData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".local", "share")
}

// Home is the place to install to: the project's, or the user's own.
func (p Places) Home(user bool) (Home, error) {
	if !user {
		return p.Project, nil
	}
	if p.User == (Home{}) {
		return Home{}, errors.New("the user has no home directory: set HOME or XDG_DATA_HOME, or install into the project, without --user")
	}
	return p.User, nil
}
