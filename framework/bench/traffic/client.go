package traffic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Outcome is what a client got for one request.
type Outcome struct {
	Asked    int    // rows
	Complete int    // rows that ended well
	Failed   int    // rows whose error was told
	Refusal  string // the server's words where it took no row at all
	Left     bool   // the client went before the end, so that it does not know what became of the other rows
}

// Manner is how a client behaves.
type Manner struct {
	Stream bool          // asks for every step
	Leave  int           // goes after so many events, or, without a stream, after so many milliseconds; 0: stays
	Slow   time.Duration // waits so long between events
}

// choice is a row of an answer, or of an event.
type choice struct {
	Index  int             `json:"index"`
	Finish string          `json:"finish"`
	Error  string          `json:"error"`
	Step   json.RawMessage `json:"step"`
}

type answer struct {
	Choices []choice `json:"choices"`
	Error   *struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	} `json:"error"`
}

// Ask sends a question of n rows and behaves as m says. The error is that of a request that failed without being told so: a connection that broke
// off, an answer that lacks rows, a row without an end.
func (s *Server) Ask(ctx context.Context, client *http.Client, path string, question map[string]any, n int, m Manner) (out Outcome, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	out.Asked = n
	if m.Stream {
		question["stream"] = true
	} else if m.Leave > 0 {
		timer := time.AfterFunc(time.Duration(m.Leave)*time.Millisecond, leave)
		defer timer.Stop()
	}
	body, err := json.Marshal(question)
	if err != nil {
		return out, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(request)
	if err != nil {
		out.Left = ctx.Err() != nil
		return out, unlessLeft(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	ends := map[int]bool{}
	switch {
	case resp.StatusCode != http.StatusOK:
		err = out.refused(resp)
	case m.Stream:
		err = out.follow(resp.Body, m, ends)
	default:
		var a answer
		if err = json.NewDecoder(resp.Body).Decode(&a); err == nil {
			err = out.take(a.Choices, ends)
		}
	}
	switch {
	case ctx.Err() != nil:
		out.Left = true
		return out, nil
	case err == nil && out.Refusal == "" && !out.Left && len(ends) != n:
		err = fmt.Errorf("%d of %d rows have an end", len(ends), n)
	}
	return out, err
}

func unlessLeft(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// refused reads the error of an answer that has no rows. Where rows were taken and all failed, they count as failed.
func (o *Outcome) refused(resp *http.Response) error {
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Error == nil || a.Error.Message == "" {
		return fmt.Errorf("%s without an error in its body (%w)", resp.Status, err)
	}
	o.Refusal = resp.Status + ": " + a.Error.Message
	if a.Error.Code == "rows_failed" {
		o.Failed = o.Asked
	}
	return nil
}

// take counts rows that have ended.
func (o *Outcome) take(choices []choice, ends map[int]bool) error {
	for _, c := range choices {
		if c.Step != nil {
			continue
		}
		if ends[c.Index] {
			return fmt.Errorf("row %d ends twice", c.Index)
		}
		ends[c.Index] = true
		switch c.Finish {
		case "complete", "stop", "steps", "length":
			o.Complete++
		default:
			if c.Error == "" {
				return fmt.Errorf("row %d ends with %q and no reason", c.Index, c.Finish)
			}
			o.Failed++
		}
	}
	return nil
}

// follow reads a stream.
func (o *Outcome) follow(body io.Reader, m Manner, ends map[int]bool) error {
	lines, events := bufio.NewReader(body), 0
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errors.Join(errors.New("the stream ends before [DONE]"), err)
		}
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		switch {
		case !is:
			continue
		case data == "[DONE]":
			return nil
		}
		var a answer
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return err
		}
		if a.Error != nil {
			o.Refusal = a.Error.Message
		}
		if err := o.take(a.Choices, ends); err != nil {
			return err
		}
		if events++; events == m.Leave {
			o.Left = true
			return nil
		}
		time.Sleep(m.Slow)
	}
}
