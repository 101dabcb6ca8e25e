package serve

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// guarded lets in only who may ask: whose Host header is this machine's where the server listens on loopback (else a page elsewhere
// could point its own name here, DNS rebinding), pages of this server or of serve.origins, and who brings a token of serve.tokens.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, entry := s.live.Load(), entryOf(r.Context())
		if s.loopback && !loopbackHost(r.Host) {
			entry.refuse(w, fail(http.StatusForbidden, "host", "host %q: the server listens on this machine alone; ask for localhost, or set serve.listen to an address that others may name", clip(r.Host, 100)))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			w.Header().Add("Vary", "Origin")
			if l.allows(origin) {
				w.Header().Set("Access-Control-Allow-Origin", origin)
				w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
				if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
					w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
					w.Header().Add("Vary", "Access-Control-Request-Headers")
					w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers")) // clients send marks of their own, and the origin is trusted
					w.Header().Set("Access-Control-Max-Age", "600")
					w.WriteHeader(http.StatusNoContent)
					return
				}
			}
		}
		if err := l.cross.Check(r); err != nil {
			entry.refuse(w, fail(http.StatusForbidden, "origin", "a page of %q may not call this server; add the origin to serve.origins", clip(r.Header.Get("Origin"), 100)))
			return
		}
		if len(l.tokens) > 0 && protected(r.URL.Path) {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "bearer") || !l.admits(strings.TrimSpace(token)) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				entry.refuse(w, fail(http.StatusUnauthorized, "invalid_api_key", "the request brings no token that this server knows; send one as Authorization: Bearer TOKEN"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// protected paths ask for a token: all but probes and the page, which no browser can send one for.
func protected(path string) bool { return path != "/healthz" && path != "/readyz" && path != "/" }

// loopbackHost tells whether a Host header names this machine.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// onLoopback tells whether only this machine can reach an address over the network.
func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// body reads a request's body: JSON, of bounded length, in the time that [Server.observed] gives it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, fail(http.StatusUnsupportedMediaType, "content_type", "content type: expected application/json, found %q; send JSON and say so in Content-Type", clip(r.Header.Get("Content-Type"), 100))
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, fail(http.StatusUnsupportedMediaType, "content_encoding", "content encoding: expected none, found %q; send the JSON as it is", clip(r.Header.Get("Content-Encoding"), 100))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.live.Load().maxBody))
	if err != nil && isTimeout(err) {
		return nil, fail(http.StatusRequestTimeout, "slow_body", "the body did not come within %v; send it at once", s.Patience)
	}
	if large := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &large) {
		err = fail(http.StatusBadRequest, "broken_body", "body: %v; send it whole, and as its headers say", err)
	}
	if err != nil {
		return nil, err
	}
	return body, http.NewResponseController(w).SetReadDeadline(time.Time{}) // the client may now wait as long as the answer takes
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout() && err != context.DeadlineExceeded
}
