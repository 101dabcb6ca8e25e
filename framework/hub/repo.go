package hub

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Repo names a repository and one of its states.
type Repo struct {
	Name     string // OWNER/NAME, or NAME alone for the oldest ones
	Revision string // branch, tag, commit, or a reference such as refs/pr/1
}

var (
	repoName     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,95})?$`)
	revisionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,254}$`)
)

// ParseRepo reads OWNER/NAME[@REVISION]. The revision is main where none is given.
func ParseRepo(text string) (Repo, error) {
	name, revision, given := strings.Cut(text, "@")
	switch {
	case strings.Contains(name, "://"):
		return Repo{}, fmt.Errorf("%s: is an address, expected OWNER/NAME[@REVISION]; give another endpoint by hub.endpoint or HF_ENDPOINT", text)
	case !repoName.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "--"):
		return Repo{}, fmt.Errorf("%q: expected a repository as OWNER/NAME[@REVISION], such as answerdotai/ModernBERT-base@main", text)
	case !given:
		revision = "main"
	case !revisionName.MatchString(revision) || strings.Contains(revision, ".."):
		return Repo{}, fmt.Errorf("%q: expected a branch, a tag or a commit behind the @, such as %s@main", text, name)
	}
	return Repo{name, revision}, nil
}

// String is OWNER/NAME@REVISION.
func (r Repo) String() string { return r.Name + "@" + r.Revision }

// Dir is the directory that a repository is pulled into where none is given: its name without the owner, below the current one.
func (r Repo) Dir() string { return "./" + path.Base(r.Name) }
