package shm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// New makes an empty memory.
func New() (*Memory, error) {
	fd, err := unix.MemfdCreate("mdmhost-logits", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("shared memory: memfd_create: %w", err)
	}
	return &Memory{file: os.NewFile(uintptr(fd), "mdmhost-logits")}, nil
}

// extend adds bytes at the end and maps them.
func (m *Memory) extend(size int64) ([]byte, error) {
	if m.file == nil {
		return nil, os.ErrClosed
	}
	if err := m.file.Truncate(m.size + size); err != nil {
		return nil, err
	}
	return unix.Mmap(int(m.file.Fd()), m.size, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// Close unmaps everything; slices handed out must not be touched any more.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	var errs []error
	for _, r := range m.regions {
		errs = append(errs, unix.Munmap(r.data))
	}
	errs = append(errs, m.file.Close())
	m.regions, m.file = nil, nil
	return errors.Join(errs...)
}

func (m *Mapping) remap(size int64) error {
	info, err := m.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < size {
		return fmt.Errorf("it has %d bytes, expected %d", info.Size(), size)
	}
	if m.data != nil {
		if err := unix.Munmap(m.data); err != nil {
			return err
		}
		m.data = nil
	}
	m.data, err = unix.Mmap(int(m.file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return err
}
