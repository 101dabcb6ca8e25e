package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
)

// failure is an error as clients see it, in OpenAI's shape.
type failure struct {
	status int
	after  int // seconds after which to ask again; 0: nothing is said

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the field of the request, null where it is not one
	Code    *string `json:"code"`
}

// Error is the message.
func (f *failure) Error() string { return f.Message }

// maxMessage bounds a message in bytes: it may quote what the client sent.
const maxMessage = 4000

// fail makes an error of a status; its type follows from that.
func fail(status int, code, format string, args ...any) *failure {
	f := &failure{status: status, Message: clip(fmt.Sprintf(format, args...), maxMessage), Type: "invalid_request_error"}
	switch {
	case status == http.StatusTooManyRequests:
		f.Type = "rate_limit_error"
	case status >= 500:
		f.Type = "server_error"
	}
	if code != "" {
		f.Code = &code
	}
	return f
}

// failureOf words an error of the engine, or of reading a request. What only the operator should see is not in it: those errors are
// logged.
func failureOf(err error) *failure {
	var known *failure
	var bad *engine.RequestError
	var unknown *engine.UnknownModelError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &bad):
		f := fail(http.StatusBadRequest, "", "%s", bad.Error())
		if param := clip(fieldOf(bad), 200); param != "" {
			f.Param = &param
		}
		return f
	case errors.As(err, &unknown):
		f := fail(http.StatusNotFound, "model_not_found", "%s", unknown.Error())
		param := "model"
		f.Param = &param
		return f
	case errors.As(err, &large):
		return fail(http.StatusRequestEntityTooLarge, "body_too_large", "body: more than %d bytes; send less, or raise serve.max_body", large.Limit)
	case errors.Is(err, engine.ErrBusy):
		f := fail(http.StatusTooManyRequests, "queue_full", "%v", err)
		f.after = 1
		return f
	case errors.Is(err, engine.ErrDraining):
		f := fail(http.StatusServiceUnavailable, "draining", "%v", err)
		f.after = 1
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusGatewayTimeout, "timeout", "the request took longer than serve.timeout; ask for fewer rows or steps, or raise it")
	}
	return fail(http.StatusInternalServerError, "internal", "the server could not answer: %v; its log says more", err)
}

// fieldOf is the field that a refusal is about: problems of single texts and rows begin with their place.
func fieldOf(bad *engine.RequestError) string {
	place, _, _ := strings.Cut(bad.Text, ":")
	name, _, _ := strings.Cut(place, "[")
	if bad.Param == "" && slices.Contains([]string{"prompt", "text", "tokens", "max_tokens"}, name) {
		return place
	}
	return bad.Param
}

// write answers with the failure.
func (f *failure) write(w http.ResponseWriter) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.after))
	}
	writeJSON(w, f.status, map[string]*failure{"error": f})
}

// writeJSON answers with a value, on one line.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a client that has left is nobody to tell
}
