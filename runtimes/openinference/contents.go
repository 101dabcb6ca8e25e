package openinference

import (
	"fmt"

	"github.com/mdmhost/mdmhost/runtimes/openinference/inference"
)

// tensorsOf reads an answer over gRPC, whose numbers are raw bytes or stand in the field of their type.
func tensorsOf(m *inference.ModelInferResponse) ([]tensor, error) {
	raw := m.GetRawOutputContents()
	if len(raw) > 0 && len(raw) != len(m.GetOutputs()) {
		return nil, fmt.Errorf("its answer has %d outputs and the numbers of %d (raw_output_contents), expected those of all", len(m.GetOutputs()), len(raw))
	}
	out := make([]tensor, len(m.GetOutputs()))
	for i, o := range m.GetOutputs() {
		out[i] = tensor{name: o.GetName(), datatype: o.GetDatatype(), shape: o.GetShape()}
		if len(raw) > 0 {
			out[i].raw = raw[i]
			continue
		}
		c := o.GetContents()
		switch o.GetDatatype() {
		case "INT64":
			for _, v := range c.GetInt64Contents() {
				out[i].addInteger(v)
			}
		case "INT32":
			for _, v := range c.GetIntContents() {
				out[i].addInteger(int64(v))
			}
		case "FP32":
			for _, v := range c.GetFp32Contents() {
				out[i].addFloat(v)
			}
		}
	}
	return out, nil
}
