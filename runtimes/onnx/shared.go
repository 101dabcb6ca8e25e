package onnx

import (
	"bytes"
	"fmt"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// shared is the session of denoisers whose passes run side by side. The last of them to close destroys it.
type shared struct {
	mu       sync.Mutex
	users    int
	setup    *ort.SessionOptions // with the provider appended; nil once the session is there
	appended []byte              // to the model's file, of the session
	session  *ort.DynamicAdvancedSession
}

// Fits tells whether the model's weights take at most so many bytes. Those in files of their own count as more.
func (d *Denoiser) Fits(bytes int) bool { return !d.ports.External && len(d.file) <= bytes }

// Beside returns n denoisers of the model, d among them, whose passes run side by side in one session, so that weights are there once. All are
// configured with the same head, one that keeps nothing between passes, and each is closed. To be called before Configure, on the CPU.
func (d *Denoiser) Beside(n int) []*Denoiser {
	d.beside = n > 1
	all := []*Denoiser{d}
	for len(all) < n {
		all = append(all, &Denoiser{model: d.model, engine: d.engine, ports: d.ports, caps: d.caps, file: d.file, decoded: d.decoded, shared: d.shared, beside: true})
	}
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	d.shared.users = len(all)
	return all
}

// open returns the session, which the first to ask makes.
func (s *shared) open(d *Denoiser, inputs, outputs []string, appended []byte) (*ort.DynamicAdvancedSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.session != nil && !bytes.Equal(appended, s.appended):
		return nil, fmt.Errorf("model %s: its session was made for another head; open the model again for this one", d.model.Name)
	case s.session != nil:
		return s.session, nil
	}
	if d.options.Head == HeadFused {
		if err := d.library.RegisterHead(raw(s.setup)); err != nil {
			return nil, err
		}
	}
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(append(d.file, appended...), inputs, outputs, s.setup)
	if err != nil {
		return nil, fmt.Errorf("model %s: ONNX Runtime %s refuses it (provider %s, head %s): %w", d.model.Name, d.library.Version, d.caps.Provider, d.options.Head, d.refused(err))
	}
	_ = s.setup.Destroy()
	s.session, s.appended, s.setup = session, appended, nil
	return session, nil
}

// leave counts a denoiser out.
func (s *shared) leave() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	if s.session != nil {
		err = s.session.Destroy()
	}
	if s.setup != nil {
		err = s.setup.Destroy()
	}
	s.session, s.setup = nil, nil
	return err
}
