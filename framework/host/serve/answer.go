package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// envelope is an answer, or a piece of one in a stream: OpenAI's object with the seed beside.
type envelope struct {
	ID      string   `json:"id"`
	Object  kind     `json:"object"`
	Created int64    `json:"created"` // seconds since 1970
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
	Seed    uint64   `json:"seed"`
	Notes   []string `json:"notes,omitempty"`

	Digests map[string]string `json:"digests,omitempty"` // details: of the model, as `mdmhost model show` has it
}

// choice is a row: how it ended, or how it stands after a step.
type choice struct {
	Index        int       `json:"index"`
	Text         string    `json:"text"` // without special tokens, and without the prompt unless it is to be echoed
	FinishReason *string   `json:"finish_reason"`
	Logprobs     *struct{} `json:"logprobs"` // null: what clients of OpenAI's look for

	Step *step `json:"step,omitempty"` // in a stream
	*ending
}

// ending is what `mdmhost sample` says of a row.
type ending struct {
	Finish     sampling.Finish `json:"finish"`
	Error      string          `json:"error,omitempty"`
	Tokens     []int32         `json:"tokens"` // [L] the whole row
	Length     int             `json:"length"`
	NFE        int             `json:"nfe"`
	NFEUntil   *int            `json:"nfe_until,omitempty"`
	NFEPartial int             `json:"nfe_partial,omitempty"`
	Steps      int             `json:"steps"`
	Capped     int             `json:"capped,omitempty"`
	MS         float64         `json:"ms"`

	StepMap []int32       `json:"step_map,omitempty"` // details, as in package results
	Born    []int32       `json:"born,omitempty"`
	Logp    results.Logps `json:"logp,omitempty"`
}

// usage counts tokens as OpenAI does: those of each prompt once, and what was made.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// reasons are OpenAI's words for how a row ended; one that failed or was cancelled has none.
var reasons = map[sampling.Finish]string{
	sampling.FinishComplete: "stop", sampling.FinishStop: "stop", sampling.FinishSteps: "length", sampling.FinishLength: "length",
}

// job is a request on its way.
type job struct {
	*request
	answer  Answer
	spell   speller
	head    envelope // what all pieces share
	asked   time.Time
	ends    []*results.Row // [rows] nil until the row's end
	usage   usage
	entry   *entry // what the log will say
	limit   time.Duration
	stopped func() bool // the server is stopping
	bad     error       // what was wrong with the question, as only its rows showed; or nil
}

// suppressed is the setting with which a client can leave a row no token at all.
const suppressed = "sampling.suppress_tokens"

// newJob begins to read an answer.
func (s *Server) newJob(r *request, a Answer, e *entry, asked time.Time) *job {
	j := &job{request: r, answer: a, spell: newSpeller(a.Model().Tokenizer), asked: asked, ends: make([]*results.Row, a.Rows()), entry: e,
		limit: s.live.Load().timeout, stopped: s.draining.Load}
	model := r.question.Model
	if model == "" {
		model = a.Model().Name
	}
	j.head = envelope{ID: "cmpl-" + rand.Text(), Object: r.kind, Created: asked.Unix(), Model: model, Seed: a.Seed(), Notes: a.Notes()}
	if r.details {
		j.head.Digests = s.digests(model)
	}
	for i := 0; i < a.Rows(); i += max(r.question.Num, 1) {
		_, given := a.Prompt(i)
		j.usage.Prompt += count(given)
	}
	e.model, e.rows, e.seed = model, a.Rows(), a.Seed()
	if s.tracing != nil {
		s.settle(e)
	}
	return j
}

// digests are those of a served model, nil of one that a reload has just taken away.
func (s *Server) digests(model string) map[string]string {
	for _, m := range s.Engine.Models() {
		if m.Name == model {
			return map[string]string{"model": m.Digest}
		}
	}
	return nil
}

// settle notes the planner and the sampler of a model, without their options, where the request named none.
func (s *Server) settle(e *entry) {
	for _, m := range s.Engine.Models() {
		if m.Name == e.model {
			planner, _, _ := strings.Cut(m.Planner, " ")
			sampler, _, _ := strings.Cut(m.Sampler, " ")
			e.planner, e.sampler = cmp.Or(e.planner, planner), cmp.Or(e.sampler, sampler)
		}
	}
}

// take keeps the end of a row and returns it as clients see it.
func (j *job) take(end engine.Event) choice {
	row, i := end.Done, end.Row
	prompt, given := j.answer.Prompt(i)
	made := max(0, len(row.Tokens)-count(given))
	if !reasonable(row.Finish) {
		made = 0
	}
	j.ends[i] = row
	if errors.Is(end.Err, sampling.ErrSuppressed) && taken(j.question.Settings, suppressed) {
		j.bad = &engine.RequestError{Param: suppressed, Text: row.Error}
	}
	j.usage.Completion += made
	j.usage.Total = j.usage.Prompt + j.usage.Completion
	j.entry.ended(row, made, j.asked)
	c := choice{Index: i, Text: row.Text, ending: &ending{
		Finish: row.Finish, Error: row.Error, Tokens: row.Tokens, Length: row.Length, NFE: row.NFE, NFEUntil: row.NFEUntil, NFEPartial: row.NFEPartial,
		Steps: row.Steps, Capped: row.Capped, MS: row.MS,
	}}
	if !j.echo {
		c.Text = j.spell.behind(row, prompt, given)
	}
	if reason, ok := reasons[row.Finish]; ok {
		c.FinishReason = &reason
	}
	if j.details {
		c.StepMap, c.Born, c.Logp = row.StepMap, row.Born, row.Logp
	}
	return c
}

func reasonable(f sampling.Finish) bool { _, ok := reasons[f]; return ok }

// verdict is the failure of a request of which no row was answered, nil where one was: the reasons of single rows stand in them.
func (j *job) verdict() *failure {
	var first string
	for _, row := range j.ends {
		switch {
		case row == nil:
		case reasonable(row.Finish):
			return nil
		case first == "" || row.Finish == sampling.FinishError:
			first = row.Error
		}
	}
	switch {
	case time.Since(j.asked) >= j.limit:
		return failureOf(context.DeadlineExceeded)
	case j.stopped():
		return failureOf(engine.ErrDraining)
	case j.bad != nil:
		return failureOf(j.bad)
	}
	return fail(http.StatusInternalServerError, "rows_failed", "no row was answered: %s", first)
}

// whole answers with all rows at once, in their order. The error is that of a client that has left.
func (j *job) whole(ctx context.Context, w *patient) error {
	for {
		event, err := j.answer.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if event.Done == nil {
			continue
		}
		if j.head.Choices == nil {
			j.head.Choices = make([]choice, j.answer.Rows())
		}
		c := j.take(event)
		j.head.Choices[c.Index] = c
	}
	if f := j.verdict(); f != nil {
		j.entry.refuse(w, f)
		return nil
	}
	j.head.Usage = &j.usage
	text, err := marshal(j.head)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err = w.Write(text)
	return err
}

// marshal writes a value as a line of JSON, with signs such as < as they are.
func marshal(v any) ([]byte, error) {
	var b buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b, err
}

type buffer []byte

func (b *buffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
