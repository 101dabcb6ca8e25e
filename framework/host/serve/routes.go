package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// worded answers in JSON where a mux would in plain text: paths and methods that are not there.
func (s *Server) worded(mux *http.ServeMux) http.Handler {
	paths := []string{"/v1/completions", "/v1/infill", "/v1/models", "/v1/planners", "/v1/samplers", "/healthz", "/readyz", "/metrics"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if allowed != nil {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			entryOf(r.Context()).refuse(w, fail(http.StatusMethodNotAllowed, "method", "%s: expected %s, found %s", clip(r.URL.Path, 100), strings.Join(allowed, " or "), clip(r.Method, 20)))
			return
		}
		entryOf(r.Context()).refuse(w, fail(http.StatusNotFound, "path", "%s: there is no such path; there are %s", clip(r.URL.Path, 100), strings.Join(paths, ", ")))
	})
}

// page shows the page where there is one.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if s.Page == nil || !s.live.Load().page {
		entryOf(r.Context()).refuse(w, fail(http.StatusNotFound, "path", "/: the page is switched off (serve.page); ask /v1/models"))
		return
	}
	s.Page.ServeHTTP(w, r)
}

// servedModel is a model in OpenAI's list, with what it is.
type servedModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // when it was opened
	OwnedBy string `json:"owned_by"`

	Family    string              `json:"family"`          // masked or insertion
	MaskText  string              `json:"mask_text"`       // of a blank
	Blank     string              `json:"blank,omitempty"` // a symbol that is one, too
	Grid      *sampling.TraceGrid `json:"grid,omitempty"`  // that the positions are laid out in
	VocabSize int                 `json:"vocab_size"`      // token ids
	MaxLength int                 `json:"max_length"`      // most positions of a row; 0: unknown
	Planner   string              `json:"planner"`         // where a request names none
	Sampler   string              `json:"sampler"`
	Provider  string              `json:"provider"` // what runs it
	Examples  []string            `json:"examples"`
	Digest    string              `json:"digest"`
}

func newServedModel(m engine.ModelInfo) servedModel {
	out := servedModel{ID: m.Name, Object: "model", Created: m.Opened.Unix(), OwnedBy: "mdmhost", Family: "masked", MaskText: m.MaskText, Blank: m.Blank, Grid: m.Grid, VocabSize: m.V,
		MaxLength: m.MaxLength, Planner: m.Planner, Sampler: m.Sampler, Provider: m.Provider, Examples: append([]string{}, m.Examples...), Digest: m.Digest}
	if m.Insertion {
		out.Family = "insertion"
	}
	return out
}

// list is OpenAI's list of anything.
type list[T any] struct {
	Object string `json:"object"`
	Data   []T    `json:"data"`
}

func listOf[T any](data []T) list[T] { return list[T]{"list", append([]T{}, data...)} }

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	var out []servedModel
	for _, m := range s.Engine.Models() {
		out = append(out, newServedModel(m))
	}
	writeJSON(w, http.StatusOK, listOf(out))
}

func (s *Server) oneModel(w http.ResponseWriter, r *http.Request) {
	name, names := r.PathValue("name"), []string{}
	for _, m := range s.Engine.Models() {
		if m.Name == name {
			writeJSON(w, http.StatusOK, newServedModel(m))
			return
		}
		names = append(names, m.Name)
	}
	entryOf(r.Context()).refuse(w, failureOf(&engine.UnknownModelError{Model: clip(name, 100), Names: names}))
}

// Plugin is a planner or a sampler that requests may name.
type Plugin struct {
	Object    string          `json:"object"` // its kind
	Name      string          `json:"name"`
	Version   string          `json:"version,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	CanRemask bool            `json:"can_remask"`
	CanInsert bool            `json:"can_insert"`
	Adaptive  bool            `json:"adaptive"`
	Options   json.RawMessage `json:"options,omitempty"` // JSON Schema of its options
}

func (s *Server) plugins(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all := slices.Clone(s.live.Load().plugins)
		writeJSON(w, http.StatusOK, listOf(slices.DeleteFunc(all, func(p Plugin) bool { return p.Object != kind })))
	}
}

// alive says that the process answers.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "alive"})
}

// readiness is what /readyz says.
type readiness struct {
	Status string        `json:"status"` // ready or draining
	Models []string      `json:"models"`
	Reload *reloadStatus `json:"reload,omitempty"` // the last one
}

// reloadStatus is how a reload ended.
type reloadStatus struct {
	At      time.Time `json:"at"`
	OK      bool      `json:"ok"`
	Error   string    `json:"error,omitempty"`   // that settings were refused; why only the log says
	Changed []string  `json:"changed,omitempty"` // names of settings
	Kept    []string  `json:"kept,omitempty"`    // those of them that need a new start
}

// ready says whether questions are welcome.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	out, status := readiness{Status: "ready", Models: []string{}}, http.StatusOK
	for _, m := range s.Engine.Models() {
		out.Models = append(out.Models, m.Name)
	}
	if last := s.reload.Load(); !last.At.IsZero() {
		out.Reload = last
	}
	if s.draining.Load() {
		out.Status, status = "draining", http.StatusServiceUnavailable
	}
	writeJSON(w, status, out)
}
