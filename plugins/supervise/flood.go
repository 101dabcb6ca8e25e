package supervise

import (
	"io"
	"time"
)

// loggedRate is how many bytes a second of standard error go to the log.
const loggedRate = 1 << 20

// floodNotice takes the place of what is left out.
const floodNotice = "\n[the plugin prints more than 1 MiB a second; the rest of this second is left out]\n"

// flood passes standard error on to the log, which costs much more than reading does, and leaves out what exceeds its
// rate, so that a plugin that prints without end does not slow the run down. The last words miss nothing.
type flood struct {
	pipe   io.ReadCloser
	words  *lastWords
	since  time.Time
	passed int
}

// Read reads until something may pass.
func (f *flood) Read(p []byte) (int, error) {
	for {
		n, err := f.pipe.Read(p)
		_, _ = f.words.Write(p[:n]) // never fails
		if now := time.Now(); now.Sub(f.since) >= time.Second {
			f.since, f.passed = now, 0
		}
		before := f.passed
		f.passed += n
		switch {
		case err != nil || f.passed <= loggedRate:
			return n, err
		case before <= loggedRate:
			return copy(p, floodNotice), nil
		}
	}
}

// Close closes the pipe.
func (f *flood) Close() error { return f.pipe.Close() }
