package openinference

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// transport speaks the protocol with one server. Its methods may be called from several goroutines.
type transport interface {
	// ready says why the server, or the model on it, cannot be asked, or nil.
	ready(ctx context.Context) error
	// describe asks what the model takes and gives.
	describe(ctx context.Context) (*signature, error)
	// infer runs the model. The answer's tensors have the shapes that the server gives them.
	infer(ctx context.Context, r *request) ([]tensor, error)
	// note says what a user should know of the way, or "".
	note() string
	close()
}

// request is one run of the model.
type request struct {
	inputs  []tensor
	outputs []string
	bytes   int // most bytes that the numbers of an honest answer take, in their binary form
}

// unanswered is a failure that another try, or another endpoint, may not have.
type unanswered struct{ err error }

func (u *unanswered) Error() string { return u.err.Error() }
func (u *unanswered) Unwrap() error { return u.err }

func again(format string, args ...any) error { return &unanswered{fmt.Errorf(format, args...)} }

// retriable tells whether another try makes sense.
func retriable(err error) bool {
	var u *unanswered
	return errors.As(err, &u)
}

// connect makes the transport of an endpoint. Nothing is sent yet.
func connect(endpoint string, o *Options, way *security, t *traffic) (transport, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Port() == "" && strings.HasPrefix(u.Scheme, "grpc") {
		return nil, fmt.Errorf("endpoint %s: expected grpc://host:port, grpcs://host:port, http://host:port or https://host:port", endpoint)
	}
	switch u.Scheme {
	case "grpc", "grpcs":
		if strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("endpoint %s: gRPC has no path, expected %s://%s", endpoint, u.Scheme, u.Host)
		}
		return dialGRPC(net.JoinHostPort(u.Hostname(), u.Port()), u.Scheme == "grpcs", o, way, t)
	case "http", "https":
		return dialHTTP(u, o, way, t), nil
	}
	return nil, fmt.Errorf("endpoint %s: scheme %q is unknown; use grpc, grpcs, http or https", endpoint, u.Scheme)
}
