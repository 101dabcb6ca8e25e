package openinference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// jsonTensor is an input or an output in the JSON part of a body.
type jsonTensor struct {
	Name       string          `json:"name"`
	Datatype   string          `json:"datatype,omitempty"`
	Shape      []int64         `json:"shape,omitempty"`
	Parameters map[string]any  `json:"parameters,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// The parameters of numbers as bytes.
const (
	binarySize = "binary_data_size" // of a tensor: how many bytes of those behind the JSON are its numbers
	binaryData = "binary_data"      // of an output that is asked for: true
)

// encodeBody writes a request, with numbers as bytes behind the JSON or as text in it. It returns the length of the JSON, too.
func encodeBody(r *request, binary bool) ([]byte, int, error) {
	var m struct {
		Inputs  []jsonTensor `json:"inputs"`
		Outputs []jsonTensor `json:"outputs"`
	}
	for i := range r.inputs {
		t := &r.inputs[i]
		j := jsonTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape}
		if binary {
			j.Parameters = map[string]any{binarySize: len(t.raw)}
		} else {
			j.Data = t.text()
		}
		m.Inputs = append(m.Inputs, j)
	}
	for _, name := range r.outputs {
		j := jsonTensor{Name: name}
		if binary {
			j.Parameters = map[string]any{binaryData: true}
		}
		m.Outputs = append(m.Outputs, j)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, 0, err
	}
	header := len(body)
	if binary {
		for i := range r.inputs {
			body = append(body, r.inputs[i].raw...)
		}
	}
	return body, header, nil
}

// text writes the numbers as a JSON list that gives them back exactly.
func (t *tensor) text() json.RawMessage {
	out := []byte{'['}
	width := widths[t.datatype]
	for i := range len(t.raw) / width {
		if i > 0 {
			out = append(out, ',')
		}
		if t.datatype == "FP32" {
			var v [1]float32
			if t.floats(i, v[:]); v[0] != v[0] {
				out = append(out, "null"...) // JSON has no word for NaN
			} else {
				out = strconv.AppendFloat(out, float64(v[0]), 'g', -1, 32)
			}
		} else {
			out = strconv.AppendInt(out, t.integer(i), 10)
		}
	}
	return append(out, ']')
}

// decodeBody reads an answer. length is the header that says how much of it is JSON, or "" where all is.
func decodeBody(body []byte, length string) ([]tensor, error) {
	var rest []byte
	if length != "" {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(body) {
			return nil, fmt.Errorf("its answer has %s: %q and %d bytes, expected the length of the JSON in it", lengthHeader, length, len(body))
		}
		body, rest = body[:n], body[n:]
	}
	var m struct {
		Outputs []jsonTensor `json:"outputs"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("its answer is no JSON of the protocol: %w", err)
	}
	out := make([]tensor, len(m.Outputs))
	for i, j := range m.Outputs {
		t := tensor{name: j.Name, datatype: j.Datatype, shape: j.Shape}
		if size, is := j.Parameters[binarySize]; is {
			n, ok := size.(float64)
			if !ok || n < 0 || n > float64(len(rest)) || n != math.Trunc(n) {
				return nil, fmt.Errorf("output %s has %s %v, and %d bytes are left of the answer", j.Name, binarySize, size, len(rest))
			}
			t.raw, rest = rest[:int(n)], rest[int(n):]
		} else if err := t.parse(j.Data); err != nil {
			return nil, fmt.Errorf("output %s: %w", j.Name, err)
		}
		out[i] = t
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("its answer has %d bytes that belong to no output", len(rest))
	}
	return out, nil
}

// parse reads numbers from a JSON list, flat or nested as the shape is. null is NaN.
func (t *tensor) parse(data json.RawMessage) error {
	if t.raw = nil; widths[t.datatype] == 0 {
		return nil // [tensor.check] refuses it with what was expected
	}
	for {
		start := bytes.IndexFunc(data, func(r rune) bool { return !separates(r) })
		if start < 0 {
			return nil
		}
		data = data[start:]
		end := bytes.IndexFunc(data, separates)
		if end < 0 {
			end = len(data)
		}
		word := string(data[:end])
		data = data[end:]
		if t.datatype == "FP32" {
			v, err := strconv.ParseFloat(word, 32)
			if word == "null" {
				v, err = math.NaN(), nil
			}
			if err != nil {
				return fmt.Errorf("holds %.40q, expected numbers of %s", word, t.datatype)
			}
			t.addFloat(float32(v))
			continue
		}
		v, err := strconv.ParseInt(word, 10, 8*widths[t.datatype])
		if err != nil {
			return fmt.Errorf("holds %.40q, expected numbers of %s", word, t.datatype)
		}
		t.addInteger(v)
	}
}

// separates tells what stands between the numbers of a list.
func separates(r rune) bool {
	switch r {
	case '[', ']', ',', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
