package supervise

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// FuzzRelay: whatever a process writes, the log takes it, and what is no record of its own is not lost at debug.
func FuzzRelay(f *testing.F) {
	f.Add("hello\n{\"@level\":\"warn\",\"@message\":\"low\",\"stack\":\"a\\n\\tb\"}\n")
	f.Add("panic: odd\n\ngoroutine 1 [running]:\nmain.main()\n")
	f.Add("Traceback (most recent call last):\n  File \"x\"\nValueError: odd\nbye")
	f.Add("{\"@level\":3}\n[WARN] old\n")
	f.Fuzz(func(t *testing.T, text string) {
		var shown bytes.Buffer
		r := newRelay(&flood{pipe: io.NopCloser(strings.NewReader(text)), words: &lastWords{}}, hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &shown}))
		if n, err := r.Read(make([]byte, 8)); n != 0 || err != io.EOF {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if strings.TrimSpace(text) != "" && shown.Len() == 0 {
			t.Errorf("%q is lost", text)
		}
	})
}
