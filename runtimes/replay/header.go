package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// longestHeader bounds the first line of a trace.
const longestHeader = 16 << 20

// Header reads the first line of a recording alone: the seed and the parts of its run.
func Header(name string) (*sampling.TraceHeader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, missing(name, err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, longestHeader)).ReadBytes('\n')
	h := &sampling.TraceHeader{}
	if err == nil {
		err = json.Unmarshal(line, h)
	}
	if err != nil || h.Trace == 0 {
		return nil, fmt.Errorf("runtime.recording %s: does not begin like a trace; `mdmhost sample --trace FILE --record` writes one, not a page", name)
	}
	return h, nil
}
