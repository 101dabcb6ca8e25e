package serve

// Watching tells whether changes of the settings' files are noticed now.
func (s *Server) Watching() bool { return s.watching.Load() }
