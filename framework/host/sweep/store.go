package sweep

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// rowsPath is the file of a point's rows: JSON lines, the head first.
func rowsPath(dir, key string) string { return filepath.Join(dir, "rows", key+".jsonl") }

// write keeps a point; its file is there whole or not at all.
func (m *Measured) write(path string) error {
	err := wholefile.Replace(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		if err := e.Encode(m); err != nil {
			return err
		}
		for i := range m.Rows {
			if err := e.Encode(&m.Rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return nil
}

// read returns what was kept of a point, nil where there is nothing.
func read(path string) (*Measured, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	m, d := &Measured{}, json.NewDecoder(bufio.NewReader(f))
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, so that the point is measured again", path, err)
	}
	for d.More() {
		var r Row
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: row %d: %w; remove it, so that the point is measured again", path, len(m.Rows), err)
		}
		m.Rows = append(m.Rows, r)
	}
	return m, nil
}
