package wire

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// violation is a message that breaks the protocol; whoever knows the plugin's name sets the object.
func violation(format string, args ...any) *sampling.Error {
	return &sampling.Error{Code: sampling.ContractViolation, Object: "message", Problem: fmt.Sprintf(format, args...)}
}

func row(i int) string { return fmt.Sprintf("row %d of the step", i) }

var statusCodes = map[sampling.Code]codes.Code{
	sampling.InvalidConfig: codes.InvalidArgument, sampling.UnsupportedProtocol: codes.FailedPrecondition, sampling.ContractViolation: codes.FailedPrecondition,
	sampling.Timeout: codes.DeadlineExceeded, sampling.Exhausted: codes.ResourceExhausted, sampling.Crashed: codes.Unavailable, sampling.Internal: codes.Internal,
}

// longest is the largest part of an error that travels; statuses are headers, which have limits.
const longest = 8 << 10

// ToStatus translates an error into a gRPC status with an Error as its detail. Cancelled contexts stay what they are.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return status.Error(codes.Canceled, err.Error())
	}
	var e *sampling.Error
	if !errors.As(err, &e) {
		e = &sampling.Error{Code: sampling.Internal, Problem: err.Error()}
	}
	problem := e.Problem
	if e.Err != nil {
		problem += ": " + e.Err.Error()
	}
	s := status.New(statusCodes[e.Code], clip(problem))
	detailed, failed := s.WithDetails(&pb.Error{Code: string(e.Code), Object: clip(e.Object), Problem: clip(problem), Hint: clip(e.Hint)})
	if failed != nil {
		return s.Err()
	}
	return detailed.Err()
}

func clip(s string) string {
	if len(s) > longest {
		s = s[:longest] + " ..."
	}
	return s
}

// FromStatus translates a gRPC status back. object names the plugin for errors that do not name it themselves; ok is
// false when the status tells nothing but that the connection failed or the call ended early.
func FromStatus(err error, object string) (e *sampling.Error, ok bool) {
	s, is := status.FromError(err)
	if !is {
		return nil, false
	}
	for _, d := range s.Details() {
		if d, is := d.(*pb.Error); is {
			e := &sampling.Error{Code: sampling.Code(d.GetCode()), Object: d.GetObject(), Problem: d.GetProblem(), Hint: d.GetHint()}
			if _, known := statusCodes[e.Code]; !known {
				e.Code = sampling.Internal
			}
			if e.Object == "" {
				e.Object = object
			}
			return e, true
		}
	}
	e = &sampling.Error{Object: object, Problem: s.Message()}
	switch s.Code() {
	case codes.ResourceExhausted:
		e.Code, e.Hint = sampling.Exhausted, fmt.Sprintf("messages may have %d MiB; use a smaller batch", MessageCap>>20)
	case codes.Unimplemented:
		e.Code, e.Hint = sampling.UnsupportedProtocol, "the plugin is of another kind or was built for another protocol; see `mdmhost plugin info`"
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.OK:
		return nil, false
	default:
		e.Code, e.Hint = sampling.Internal, "`--set plugins.log=debug` shows the plugin's log"
	}
	return e, true
}

// Cancelled tells whether a call ended because its context was cancelled.
func Cancelled(err error) bool { return status.Code(err) == codes.Canceled }
