package data

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// defaultShard is the usual size of a shard.
const defaultShard = 256 << 20

// Prepare reads the data of a spec and writes its rows to a new directory: index.json, tokenizer.json and shards. It returns
// the data as [Open] gives it for data.prepared. The directory appears once it is whole; after an error there is none.
func Prepare(ctx context.Context, s Spec, dir string, o Options) (*Data, error) {
	if s.Prepared != "" {
		return nil, Problems{{"data.prepared", "cannot be given when data is prepared; remove it"}}
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if o.disk == nil {
		o.disk = realDisk{}
	}
	if o.ShardBytes == 0 {
		o.ShardBytes = defaultShard
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(dir + ".lock")
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("%s.lock: %w", dir, plain(err))
	} else if !ok {
		return nil, fmt.Errorf("%s: is being prepared by another process; wait for it, or name another directory", dir)
	}
	defer func() {
		_ = os.Remove(dir + ".lock") // while it is still locked
		_ = lock.Unlock()
	}()
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: exists; remove it, or name another directory", dir)
	}
	if err := prepare(ctx, &s, dir, o); err != nil {
		return nil, err
	}
	made := Defaults()
	made.Prepared = dir
	return Open(ctx, made, Options{})
}

// prepare writes DIR.part and moves it into place.
func prepare(ctx context.Context, s *Spec, dir string, o Options) (err error) {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil { // of a run that was killed
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		_ = os.RemoveAll(part)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
			err = fmt.Errorf("%s: %w; nothing was left there: make room and prepare again", dir, err)
		}
	}()
	v, err := openVocabulary(ctx, s, o)
	if err != nil {
		return err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	var files []*shardFiles
	defer func() {
		for _, f := range files {
			f.abandon()
		}
	}()
	b, err := build(ctx, s, o, v, o.ShardBytes, func(name string) segments {
		f := &shardFiles{disk: o.disk, dir: part, name: name}
		files = append(files, f)
		return f
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := f.finish(); err != nil {
			return err
		}
	}
	train, valid, err := b.datasets(s, func(*set) [][]byte { return nil })
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(newIndex(s, v, b, train, valid), "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(o.disk, filepath.Join(part, tokenizerName), v.JSON); err != nil {
		return err
	}
	if err := writeFile(o.disk, filepath.Join(part, indexName), append(text, '\n')); err != nil {
		return err
	}
	return o.disk.Rename(part, dir)
}
