// Package hubtest is a server with the layout of the Hugging Face Hub, for tests: listings with digests, files by commit, large ones by a redirect
// to a second host, and whatever a test lets it do wrong.
package hubtest

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names blobs so
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Commit is the commit of every repository, on the branch main.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// Hub is a running server.
type Hub struct {
	URL  string // of the endpoint
	Side string // of the host that large files come from

	// Wrong may answer a request in its own way, and then returns true.
	Wrong func(w http.ResponseWriter, r *http.Request) bool

	servers []*httptest.Server
	mu      sync.Mutex
	repos   map[string]map[string][]byte // by name and path
	asked   []Request
}

// Request is one that was made.
type Request struct {
	Side          bool // of the second host
	Path, Range   string
	Authorization string
}

// Start starts a server, which runs until it is closed.
func Start() *Hub {
	h := &Hub{repos: map[string]map[string][]byte{}}
	side := httptest.NewServer(h.record(true, h.large))
	hub := httptest.NewServer(h.record(false, h.serve))
	h.URL, h.Side, h.servers = hub.URL, side.URL, []*httptest.Server{hub, side}
	return h
}

// Close ends the server and its connections.
func (h *Hub) Close() {
	for _, s := range h.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// Add adds a repository, or replaces it.
func (h *Hub) Add(name string, files map[string][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.repos[name] = files
}

// Asked returns the requests since the last call.
func (h *Hub) Asked() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.asked
	h.asked = nil
	return out
}

// Large tells whether a file is in large file storage.
func Large(name string) bool {
	return slices.Contains([]string{".safetensors", ".onnx", ".bin"}, path.Ext(name))
}

// ETag is the tag of a content.
func ETag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (h *Hub) record(side bool, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked = append(h.asked, Request{side, r.URL.Path, r.Header.Get("Range"), r.Header.Get("Authorization")})
		h.mu.Unlock()
		if h.Wrong == nil || !h.Wrong(w, r) {
			next(w, r)
		}
	}
}

// serve answers /api/models/REPO/revision/REVISION and /REPO/resolve/COMMIT/PATH.
func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	escaped := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(escaped, "/api/models/"); ok {
		name, revision, _ := strings.Cut(rest, "/revision/")
		h.list(w, r, name, revision)
		return
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/resolve/")
	revision, file, _ := strings.Cut(rest, "/")
	file, _ = url.PathUnescape(file)
	h.mu.Lock()
	content, ok := h.repos[name][file]
	h.mu.Unlock()
	switch {
	case revision != Commit || !ok:
		refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
	case Large(file):
		w.Header().Set("X-Linked-Etag", ETag(content))
		http.Redirect(w, r, h.Side+"/large/"+name+"/"+file+"?signature=1", http.StatusFound)
	default:
		send(w, r, content)
	}
}

// large answers /large/REPO/PATH at the second host.
func (h *Hub) large(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := strings.TrimPrefix(r.URL.Path, "/large/")
	for name, files := range h.repos {
		if file, ok := strings.CutPrefix(rest, name+"/"); ok && files[file] != nil {
			send(w, r, files[file])
			return
		}
	}
	http.NotFound(w, r)
}

func send(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("ETag", ETag(content))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func (h *Hub) list(w http.ResponseWriter, r *http.Request, name, revision string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	files, ok := h.repos[name]
	switch {
	case !ok:
		refuse(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
		return
	case revision != "main" && revision != Commit && revision != "refs%2Fpr%2F1":
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
		return
	case r.URL.Query().Get("blobs") != "true":
		http.Error(w, "expected blobs=true", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(Listing(name, files)) // a client that went away has no use for it
}

// Listing is the answer that lists files.
func Listing(name string, files map[string][]byte) []byte {
	type lfs struct {
		SHA256      string `json:"sha256"`
		Size        int    `json:"size"`
		PointerSize int    `json:"pointerSize"`
	}
	type sibling struct {
		Name   string `json:"rfilename"`
		Size   int    `json:"size"`
		BlobID string `json:"blobId"`
		LFS    *lfs   `json:"lfs,omitempty"`
	}
	siblings := []sibling{}
	for file, content := range files {
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)) //nolint:gosec // see above
		s := sibling{Name: file, Size: len(content), BlobID: hex.EncodeToString(sum[:])}
		if Large(file) {
			s.LFS, s.BlobID = &lfs{strings.Trim(ETag(content), `"`), len(content), 134}, strings.Repeat("a", 40)
		}
		siblings = append(siblings, s)
	}
	out, err := json.Marshal(map[string]any{"id": name, "sha": Commit, "siblings": siblings, "gated": false})
	if err != nil {
		panic(err) // texts and numbers
	}
	return out
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("X-Error-Code", code)
	w.Header().Set("X-Error-Message", text)
	w.WriteHeader(status)
}
