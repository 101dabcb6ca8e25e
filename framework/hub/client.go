package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// listingLimit is the most bytes of a listing.
const listingLimit = 64 << 20

// client asks one endpoint.
type client struct {
	endpoint *url.URL
	token    string
	stall    time.Duration // longest silence of the other side
	http     *http.Client
	wire     *http.Transport
}

func newClient(o Options) (*client, error) {
	base, err := url.Parse(strings.TrimRight(o.Endpoint, "/"))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, &OptionsError{"hub.endpoint: expected an address such as https://huggingface.co, without user, query or fragment; a token goes into HF_TOKEN"} // unquoted: it may hold a password
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &OptionsError{"HF_TOKEN: expected a token of letters, digits and signs; take out spaces and line breaks"}
	}
	c := &client{endpoint: base, token: o.Token, stall: o.Stall, wire: http.DefaultTransport.(*http.Transport).Clone()}
	c.http = &http.Client{Transport: c, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 10:
			return fatal{errors.New("the endpoint redirects more than 10 times")}
		case to.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
			return fatal{fmt.Errorf("the endpoint redirects from https to %s://%s, which is refused", to.URL.Scheme, to.URL.Host)}
		}
		return nil
	}}
	return c, nil
}

// RoundTrip adds the token to requests that go to the endpoint itself. Redirects lead to other hosts, which must not see it.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "mdmhost")
	r.Header.Set("Accept-Encoding", "identity") // sizes and ranges are of the content itself
	r.Header.Del("Authorization")
	r.Header.Del("Referer") // it may have a signature of another host
	if c.token != "" && r.URL.Scheme == c.endpoint.Scheme && r.URL.Host == c.endpoint.Host {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.wire.RoundTrip(r)
}

// listingURL and fileURL are the addresses of the layout. A revision may hold slashes, which stand escaped.
func (c *client) listingURL(r Repo) string {
	return c.endpoint.String() + "/api/models/" + r.Name + "/revision/" + url.PathEscape(r.Revision) + "?blobs=true"
}

func (c *client) fileURL(r Repo, name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, url.PathEscape(part))
	}
	return c.endpoint.String() + "/" + r.Name + "/resolve/" + url.PathEscape(r.Revision) + "/" + strings.Join(parts, "/")
}

// list asks what a repository holds.
func (c *client) list(ctx context.Context, r Repo, retries int) (*Listing, error) {
	var out *Listing
	err := again(ctx, retries, func() (bool, error) {
		resp, done, err := c.get(ctx, c.listingURL(r), nil)
		if err != nil {
			return false, atOnce(err)
		}
		defer done()
		if resp.StatusCode != http.StatusOK {
			return false, c.refusal(resp, r, "")
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, listingLimit+1))
		if err != nil {
			return false, err
		}
		if len(data) > listingLimit {
			return false, fatal{fmt.Errorf("the listing has more than %d bytes, which no repository of a model has", listingLimit)}
		}
		if out, err = parseListing(data); err != nil {
			return false, fatal{err}
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, c.unreachable(err))
	}
	if out.Name == "" {
		out.Name = r.Name
	}
	return out, nil
}

// get sends a request whose answer may not be silent for longer than stall. end ends it.
func (c *client) get(ctx context.Context, address string, header http.Header) (_ *http.Response, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := fmt.Errorf("no byte for %s", c.stall)
	timer := time.AfterFunc(c.stall, func() { cancel(silent) })
	done := func() { timer.Stop(); cancel(nil) }
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		done()
		return nil, nil, fatal{err}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	resp, err := c.http.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		done()
		return nil, nil, err
	}
	body := resp.Body
	resp.Body = &watched{body, func() { timer.Reset(c.stall) }, func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}}
	return resp, func() { _ = body.Close(); done() }, nil
}

// watched is a body that tells of each piece, and why it was cut off.
type watched struct {
	io.ReadCloser
	came func()
	why  func(error) error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.came()
	}
	if err != nil && err != io.EOF {
		err = w.why(err)
	}
	return n, err
}

// refusal explains an answer that is no content. The endpoint says more in X-Error-Code and X-Error-Message.
func (c *client) refusal(resp *http.Response, r Repo, file string) error {
	code, said := resp.Header.Get("X-Error-Code"), resp.Header.Get("X-Error-Message")
	if said = strings.Map(printable, said); said != "" {
		said = fmt.Sprintf(" (%.200s)", said)
	}
	what := fmt.Sprintf("%s answers %d", resp.Request.URL.Host, resp.StatusCode)
	page := c.endpoint.String() + "/" + r.Name
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // or a date, which nobody sends
		return &busy{fmt.Errorf("%s%s", what, said), time.Duration(after) * time.Second}
	case code == "GatedRepo":
		return fatal{fmt.Errorf("%s: the repository is gated%s; agree to its terms at %s, then set HF_TOKEN to a token of that account", what, said, page)}
	case s == http.StatusUnauthorized && c.token != "":
		return fatal{fmt.Errorf("%s: the token of HF_TOKEN is not taken, or there is no such repository%s; look at %s", what, said, page)}
	case s == http.StatusUnauthorized:
		return fatal{fmt.Errorf("%s: there is no such repository, or it is private%s; check the name, or set HF_TOKEN to a token that may read it", what, said)}
	case s == http.StatusForbidden:
		return fatal{fmt.Errorf("%s: not allowed%s; set HF_TOKEN to a token that may read %s", what, said, page)}
	case s == http.StatusNotFound && code == "RevisionNotFound":
		return fatal{fmt.Errorf("%s: the repository has no revision %s; %s/tree/main lists them, and without @REVISION main is taken", what, r.Revision, page)}
	case s == http.StatusNotFound && file != "":
		return fatal{fmt.Errorf("%s: commit %s has no such file, though the listing has%s", what, r.Revision, said)}
	case s == http.StatusNotFound:
		return fatal{fmt.Errorf("%s: there is no such repository or revision%s; check the name and the revision at %s", what, said, page)}
	}
	return fatal{fmt.Errorf("%s%s, expected the content", what, said)}
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// atOnce makes errors fatal that say that the endpoint is not there at all: nobody wants to wait for the first word.
func atOnce(err error) error {
	var op *net.OpError
	if (errors.As(err, &op) && op.Op == "dial") || errors.As(err, new(*tls.CertificateVerificationError)) {
		return fatal{err}
	}
	return err
}

// unreachable adds what to do where no answer came at all.
func (c *client) unreachable(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return err
	}
	if errors.As(failed.Err, new(fatal)) { // a redirect
		return failed.Err
	}
	return fmt.Errorf("%s cannot be reached: %w; without that network give another endpoint by hub.endpoint or HF_ENDPOINT (a proxy by HTTPS_PROXY), or copy the directory from a machine that has it", c.endpoint, failed.Err)
}
