package serve

import (
	"net"
	"net/http"
	"sync"
)

// connectionStates are the connections that are open and what each is at.
type connectionStates struct {
	mu    sync.Mutex
	state map[net.Conn]http.ConnState
}

// change notes what a connection is at now, and returns what it was at before, if it was known.
func (s *connectionStates) change(c net.Conn, now http.ConnState) (before http.ConnState, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known = s.state[c]
	if now == http.StateClosed || now == http.StateHijacked {
		delete(s.state, c)
		return before, known
	}
	if s.state == nil {
		s.state = map[net.Conn]http.ConnState{}
	}
	s.state[c] = now
	return before, known
}
