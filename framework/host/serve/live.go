package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// live is what requests are measured by; a reload replaces it as a whole.
type live struct {
	maxBody        int64
	timeout, drain time.Duration
	tokens         [][sha256.Size]byte // digests of bearer tokens; none: everybody may ask
	origins        []string
	cross          *http.CrossOriginProtection
	page           bool
	plugins        []Plugin
}

// Check finds what is wrong with the settings of the HTTP side, before anything heavy is opened. The error is of type [config.Problems].
func (s Settings) Check() error {
	_, err := newLive(s)
	return err
}

// newLive reads the settings. The error is of type [config.Problems].
func newLive(s Settings) (*live, error) {
	c := s.Config.Serve
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	l := &live{maxBody: int64(c.MaxBody), timeout: seconds(c.Timeout), drain: seconds(c.Drain), origins: c.Origins, page: c.Page,
		plugins: s.Plugins, cross: http.NewCrossOriginProtection()}
	var problems config.Problems
	add := func(key, format string, args ...any) {
		problems = append(problems, config.Problem{Origin: s.Config.Origin(key), Key: key, Text: fmt.Sprintf(format, args...)})
	}
	for _, origin := range c.Origins {
		if err := l.cross.AddTrustedOrigin(origin); err != nil {
			add("serve.origins", "expected origins such as https://example.org or http://localhost:3000, found %q; write scheme, host and port alone", origin)
		}
	}
	if c.Tokens != "" {
		text, err := os.ReadFile(c.Tokens)
		if l.tokens = digests(text); err != nil {
			add("serve.tokens", "%v; name a file with a token a line", err)
		} else if len(l.tokens) == 0 {
			add("serve.tokens", "%s: expected a token a line, found none; write one, or leave the key out to let everybody ask", c.Tokens)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return l, nil
}

// digests are those of the tokens in a file, a line each. Lines that are empty or begin with # are none.
func digests(text []byte) (out [][sha256.Size]byte) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			out = append(out, sha256.Sum256(line))
		}
	}
	return out
}

// admits tells whether a token is one of the file's. It takes the same time whichever it is.
func (l *live) admits(token string) bool {
	sum, found := sha256.Sum256([]byte(token)), 0
	for _, known := range l.tokens {
		found |= subtle.ConstantTimeCompare(known[:], sum[:])
	}
	return found == 1
}

// allows tells whether scripts of a page may call the server.
func (l *live) allows(origin string) bool { return slices.Contains(l.origins, origin) }
