package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

var (
	// ErrBusy is the error of a question that finds no room: as many rows wait as may, or all lanes are at work and none can be
	// opened for it. Status 429.
	ErrBusy = errors.New("serve: more requests wait than serve.queue and serve.lanes let in; ask again in a moment")
	// ErrDraining is the error of a question that comes after [Engine.Drain]. Status 503.
	ErrDraining = errors.New("serve: the server is about to stop and takes no more requests; ask another one")
)

// RequestError is a question that cannot be answered as it stands: status 400.
type RequestError struct {
	Param string // what the client calls it, "" where it is not one thing
	Text  string // what was expected, found, and what to do
}

// Error is the text, after the parameter.
func (e *RequestError) Error() string {
	if e.Param == "" {
		return e.Text
	}
	return e.Param + ": " + e.Text
}

// UnknownModelError is a question for a model that is not served: status 404.
type UnknownModelError struct {
	Model string
	Names []string // those that are
}

// Error names the model and those that there are.
func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("model %q: is not served here%s", e.Model, nearest.DidYouMean(e.Model, e.Names))
}

// refusal makes a [RequestError] of what says that settings or input are wrong; other errors stay as they are.
func refusal(err error) error {
	var problems config.Problems
	var input *results.InputError
	var invalid *sampling.Error
	switch {
	case errors.As(err, &problems):
		return ofProblems(problems)
	case errors.As(err, &input):
		if len(input.Problems) > 1 {
			return &RequestError{Text: strings.Join(input.Problems, "; ")}
		}
		param, text, _ := strings.Cut(input.Problems[0], ": ")
		return &RequestError{Param: param, Text: strings.TrimPrefix(text, param+": ")}
	case errors.As(err, &invalid) && invalid.Code == sampling.InvalidConfig:
		return &RequestError{Text: err.Error()}
	}
	return err
}

// ofProblems has the name that the client gave to the first thing that is wrong, and all texts.
func ofProblems(problems config.Problems) *RequestError {
	var texts []string
	called := func(p config.Problem) string {
		if p.Origin.Layer == config.LayerFlag && p.Origin.Place != "" {
			return p.Origin.Place
		}
		return p.Key
	}
	for i, p := range problems {
		text := p.Text
		if i > 0 {
			text = called(p) + ": " + text
		}
		texts = append(texts, text)
	}
	return &RequestError{Param: called(problems[0]), Text: strings.Join(texts, "; ")}
}
