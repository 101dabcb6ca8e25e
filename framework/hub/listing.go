package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Listing is what an endpoint says of one commit of a repository.
type Listing struct {
	Name   string // OWNER/NAME, which another name may have led to
	Commit string // in hexadecimal
	Files  []File // in the endpoint's order
}

// File is a file of a repository.
type File struct {
	Path   string `json:"path"`  // with slashes, below the repository
	Size   int64  `json:"bytes"` // of the content
	Digest Digest `json:"digest"`
}

// longestName is the most bytes of a name: what disks take, less what a file that is being written is called by.
const longestName = 230

// most is how many files a listing may have; the largest repositories of models have some thousands.
const most = 100_000

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// listed is the answer of /api/models/REPO/revision/REVISION?blobs=true, as far as it is read.
type listed struct {
	ID       string `json:"id"`
	SHA      string `json:"sha"`
	Siblings []struct {
		Name   string `json:"rfilename"`
		Size   *int64 `json:"size"`
		BlobID string `json:"blobId"`
		LFS    *struct {
			SHA256 string `json:"sha256"`
			Size   *int64 `json:"size"`
		} `json:"lfs"`
	} `json:"siblings"`
}

// parseListing reads a listing and refuses one that cannot be trusted: with paths that lead elsewhere, without sizes, or without digests.
// All that is wrong is told at once, up to some lines.
func parseListing(data []byte) (*Listing, error) {
	var in listed
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("expected a listing in JSON: %w; is this an endpoint of the Hugging Face layout?", err)
	}
	switch {
	case !commitID.MatchString(in.SHA):
		return nil, fmt.Errorf("expected the commit as sha, found %.60q; is this an endpoint of the Hugging Face layout?", in.SHA)
	case in.ID != "" && !repoName.MatchString(in.ID):
		return nil, fmt.Errorf("expected a name such as OWNER/NAME as id, found %.60q", in.ID)
	case len(in.Siblings) > most:
		return nil, fmt.Errorf("%d files, expected at most %d", len(in.Siblings), most)
	}
	out := &Listing{Name: in.ID, Commit: in.SHA}
	var wrong []error
	seen, folders := map[string]bool{}, map[string]bool{}
	for _, s := range in.Siblings {
		for dir := s.Name; safe(dir) && !folders[path.Dir(dir)]; dir = path.Dir(dir) {
			folders[path.Dir(dir)] = true
		}
	}
	for _, s := range in.Siblings {
		f := File{Path: s.Name, Digest: Digest{"git-sha1", s.BlobID}}
		size := s.Size
		if s.LFS != nil {
			f.Digest = Digest{"sha256", s.LFS.SHA256}
			if s.LFS.Size != nil {
				size = s.LFS.Size
			}
		}
		switch {
		case !safe(s.Name):
			wrong = append(wrong, fmt.Errorf("%.100q is no path below a directory", s.Name))
		case slices.ContainsFunc(strings.Split(s.Name, "/"), func(part string) bool { return len(part) > longestName }):
			wrong = append(wrong, fmt.Errorf("%.100q has a name of more than %d bytes, which disks do not take", s.Name, longestName))
		case folders[s.Name]:
			wrong = append(wrong, fmt.Errorf("%.100q is a file and a directory", s.Name))
		case seen[s.Name]:
			wrong = append(wrong, fmt.Errorf("%.100q stands there twice", s.Name))
		case size == nil || *size < 0:
			wrong = append(wrong, fmt.Errorf("%s has no size; the endpoint must answer ?blobs=true", s.Name))
		case !f.Digest.valid():
			wrong = append(wrong, fmt.Errorf("%s has no digest (%s %.80q); the endpoint must answer ?blobs=true", s.Name, f.Digest.Kind, f.Digest.Hex))
		default:
			f.Size = *size
			out.Files = append(out.Files, f)
		}
		seen[s.Name] = true
		if len(wrong) == 10 {
			break
		}
	}
	if wrong != nil {
		return nil, fmt.Errorf("the listing is refused, and nothing was fetched: %w; tell whoever keeps the endpoint, or give another one by hub.endpoint", errors.Join(wrong...))
	}
	return out, nil
}

// safe paths lie below a directory on every system, and are not this package's own.
func safe(name string) bool {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	return fs.ValidPath(name) && name != "." && len(name) < 1024 && strings.IndexFunc(name, bad) < 0 && !strings.HasPrefix(name+"/", partsDir+"/")
}
