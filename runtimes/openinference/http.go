package openinference

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// overHTTP is the protocol over HTTP, with numbers as bytes where the server has the extension binary_tensor_data, else as text.
type overHTTP struct {
	client  *http.Client
	base    *url.URL
	model   []string // its part of the path
	about   string
	headers http.Header
	traffic *traffic
	binary  atomic.Bool
}

// lengthHeader says how much of a body is JSON, before numbers as bytes.
const lengthHeader = "Inference-Header-Content-Length"

func dialHTTP(base *url.URL, o *Options, way *security, t *traffic) *overHTTP {
	h := &overHTTP{base: base, model: []string{"v2", "models", o.Model}, about: about(o.Model, o.Version), headers: way.headers, traffic: t}
	if o.Version != "" {
		h.model = append(h.model, "versions", o.Version)
	}
	h.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: way.tls.Clone(), DisableCompression: true, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h
}

func (h *overHTTP) close() { h.client.CloseIdleConnections() }

func (h *overHTTP) note() string {
	if h.binary.Load() {
		return ""
	}
	return "the server has no extension binary_tensor_data, so numbers go as text; gRPC is faster"
}

func (h *overHTTP) ready(ctx context.Context) error {
	for _, path := range [][]string{{"v2", "health", "live"}, {"v2", "health", "ready"}, append(slices.Clone(h.model), "ready")} {
		if _, _, err := h.call(ctx, http.MethodGet, path, nil, nil, 1<<20); err != nil {
			var refused *refusal
			if errors.As(err, &refused) && !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, refused.status) {
				return again("%s says that it is not ready: %w", strings.Join(path, "/"), err)
			}
			return err
		}
	}
	return nil
}

func (h *overHTTP) describe(ctx context.Context) (*signature, error) {
	var server struct {
		Extensions []string `json:"extensions"`
	}
	if err := h.get(ctx, []string{"v2"}, &server); err != nil {
		return nil, err
	}
	h.binary.Store(slices.Contains(server.Extensions, "binary_tensor_data"))
	type described struct {
		Name     string  `json:"name"`
		Datatype string  `json:"datatype"`
		Shape    []int64 `json:"shape"`
	}
	var model struct {
		Inputs  []described `json:"inputs"`
		Outputs []described `json:"outputs"`
	}
	if err := h.get(ctx, h.model, &model); err != nil {
		return nil, err
	}
	s := &signature{}
	for _, t := range model.Inputs {
		s.inputs = append(s.inputs, port{t.Name, t.Datatype, t.Shape})
	}
	for _, t := range model.Outputs {
		s.outputs = append(s.outputs, port{t.Name, t.Datatype, t.Shape})
	}
	if !slices.Contains(server.Extensions, "model_configuration") {
		return s, nil
	}
	var config struct {
		MaxBatchSize int `json:"max_batch_size"`
	}
	if err := h.get(ctx, append(slices.Clone(h.model), "config"), &config); err != nil {
		return nil, err
	}
	s.maxBatch = max(0, config.MaxBatchSize)
	return s, nil
}

func (h *overHTTP) get(ctx context.Context, path []string, to any) error {
	body, _, err := h.call(ctx, http.MethodGet, path, nil, nil, 16<<20)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("%s: its answer is no JSON of the protocol: %w; check that the address is that of an inference server", strings.Join(path, "/"), err)
	}
	return nil
}

func (h *overHTTP) infer(ctx context.Context, r *request) ([]tensor, error) {
	binary := h.binary.Load()
	body, header, err := encodeBody(r, binary)
	if err != nil {
		return nil, err
	}
	headers := http.Header{"Content-Type": {"application/json"}}
	if binary {
		headers = http.Header{"Content-Type": {"application/octet-stream"}, lengthHeader: {strconv.Itoa(header)}}
	}
	// A number as text has up to 32 characters.
	answer, said, err := h.call(ctx, http.MethodPost, append(slices.Clone(h.model), "infer"), headers, body, 8*int64(r.bytes)+1<<20)
	if err != nil {
		return nil, err
	}
	return decodeBody(answer, said.Get(lengthHeader))
}

// refusal is an answer with another status than 200.
type refusal struct {
	status int
	said   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("status %d (%s): %s", r.status, http.StatusText(r.status), r.said)
}

// call sends one request and reads its answer, of at most limit bytes.
func (h *overHTTP) call(ctx context.Context, method string, path []string, headers http.Header, body []byte, limit int64) ([]byte, http.Header, error) {
	what := strings.Join(path, "/")
	escaped := make([]string, len(path))
	for i, p := range path {
		escaped[i] = url.PathEscape(p)
	}
	r, err := http.NewRequestWithContext(ctx, method, h.base.JoinPath(escaped...).String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	r.Header.Set("User-Agent", "mdmhost")
	for _, from := range []http.Header{headers, h.headers} {
		for name, values := range from {
			r.Header[name] = values
		}
	}
	if host := h.headers.Get("Host"); host != "" {
		r.Host = host
	}
	h.traffic.sent.Add(int64(len(body)))
	answer, err := h.client.Do(r)
	if err != nil {
		return nil, nil, lost(what, err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	said, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	h.traffic.received.Add(int64(len(said)))
	switch {
	case err != nil:
		return nil, nil, lost(what, err)
	case answer.StatusCode != http.StatusOK:
		return nil, nil, h.refused(what, answer, said)
	case int64(len(said)) > limit:
		return nil, nil, fmt.Errorf("%s: its answer is longer than %d bytes, more than an honest one could be; look at the server's log", what, limit)
	}
	return said, answer.Header, nil
}

// lost says what a failure without an answer means.
func lost(what string, err error) error {
	var (
		certificate *tls.CertificateVerificationError
		alert       tls.AlertError
		plain       tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &alert), errors.As(err, &plain):
		return fmt.Errorf("%w; check runtime.tls_ca, runtime.tls_name and the server's certificate", err)
	case errors.Is(err, context.DeadlineExceeded):
		return again("%s was not answered in time", what)
	}
	return again("%s: %w", what, err)
}

// refused says what another status than 200 means.
func (h *overHTTP) refused(what string, answer *http.Response, body []byte) error {
	var problem struct {
		Error  string `json:"error"`
		Detail string `json:"detail"`
	}
	said := string(body[:min(len(body), 300)])
	if json.Unmarshal(body, &problem) == nil && problem.Error+problem.Detail != "" {
		said = problem.Error + problem.Detail
	}
	status, elsewhere := answer.StatusCode, answer.Header.Get("Location")
	err := fmt.Errorf("%s: %w", what, &refusal{status, said})
	if elsewhere != "" && status/100 == 3 {
		return fmt.Errorf("%s: status %d (%s) to %.300q; name that server in runtime.endpoints", what, status, http.StatusText(status), elsewhere)
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return &unanswered{err}
	case http.StatusNotFound:
		return fmt.Errorf("%w; the server may have no %s: set runtime.model to its name there", err, h.about)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w; give it what it wants with runtime.headers or runtime.tls_cert", err)
	case http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w; let the server take larger requests, or lower --batch", err)
	}
	return fmt.Errorf("%w; look at the server's log", err)
}
