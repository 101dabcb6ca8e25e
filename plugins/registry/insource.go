package registry

import (
	"path/filepath"
	"strings"
)

// inSource is an error about folders of an installation, which are gone when somebody reads it: it names the source in their place.
type inSource struct {
	err     error
	folders []string
	source  string
}

// Error names the source.
func (e *inSource) Error() string {
	text := e.err.Error()
	for _, folder := range e.folders {
		if full, err := filepath.Abs(folder); err == nil {
			text = strings.ReplaceAll(text, full, e.source)
		}
		text = strings.ReplaceAll(text, folder, e.source)
	}
	return text
}

// Unwrap is the error itself.
func (e *inSource) Unwrap() error { return e.err }
