package sdk

import (
	"context"
	"errors"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// asError gives an author's error a code and an object, unless it has them or only
// says that the call was cancelled.
func asError(err error, code sampling.Code, object string) error {
	var e *sampling.Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &sampling.Error{Code: code, Object: object, Problem: err.Error()}
}
