package serve

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long files must hold the same before they are taken up: editors and config maps write in several moves. What else
// happens in their folders does not count.
const settle = 150 * time.Millisecond

// watch reloads the settings when the content of one of their files changes, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	first := s.takenUp()
	if !first.Config.Serve.Watch || len(first.Files) == 0 || s.Load == nil {
		return
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		s.Logger.Warn("changes of the configuration are not noticed; send SIGHUP after them", "error", err)
		return
	}
	defer watcher.Close() //nolint:errcheck // nothing was written
	look, looking := time.NewTimer(settle), true
	await := func() {
		if !looking {
			looking = true
			look.Reset(settle)
		}
	}
	files, known := s.follow(watcher)
	seen, told := known, known
	s.watching.Store(true)
	defer s.watching.Store(false)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.taken:
			if last := s.takenUp(); !slices.Equal(last.Files, files) {
				files, known = s.follow(watcher)
			}
			await()
		case err := <-watcher.Errors: // events were lost: look
			s.Logger.Warn("changes of files may have been missed", "error", err)
			await()
		case <-watcher.Events:
			await()
		case <-look.C:
			looking = false
			s.attend(watcher, files) // a link may lead elsewhere now
			now := contents(files)
			switch {
			case now == known:
			case now != seen: // it may still be written
				seen = now
				await()
			case slices.ContainsFunc(files, empty): // likewise, by somebody slow
				if now != told {
					told = now
					s.Logger.Warn("a file of the settings is empty, and not taken up; write it, or send SIGHUP if that is meant", "files", files)
				}
			default:
				known = now
				_ = s.Reload(ctx) // it says itself what was wrong
			}
		}
	}
}

// takenUp are the settings that were taken up last.
func (s *Server) takenUp() Settings {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.loaded
}

// follow watches the files of the settings that were taken up last, and returns them with their contents, or none where one was written
// since they were read.
func (s *Server) follow(watcher *fsnotify.Watcher) ([]string, [sha256.Size]byte) {
	last := s.takenUp()
	s.attend(watcher, last.Files)
	if newer(last.Files, last.Read) {
		return last.Files, [sha256.Size]byte{}
	}
	return last.Files, contents(last.Files)
}

// attend watches the folders of files, and of what they are links to: editors replace files, and mounted config maps change a link beside
// them.
func (s *Server) attend(watcher *fsnotify.Watcher, files []string) {
	for _, file := range files {
		folders := []string{filepath.Dir(file)}
		if target, err := filepath.EvalSymlinks(file); err == nil {
			folders = append(folders, filepath.Dir(target))
		}
		for _, folder := range folders {
			if err := watcher.Add(folder); err != nil {
				s.Logger.Warn("changes of a file are not noticed; send SIGHUP after them", "file", file, "error", err)
			}
		}
	}
}

// empty tells whether a file is there and holds nothing.
func empty(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() == 0
}

// contents stands for what files hold, in one digest; one that is not there holds nothing.
func contents(files []string) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, file := range files {
		text, _ := os.ReadFile(file) // a reload says what is wrong with it
		each := sha256.Sum256(text)
		_, _ = hash.Write(each[:])
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// newer tells whether a file was written after a time, unless that is not known, or the file's is yet to come. Clocks of files go by
// a few milliseconds at a time.
func newer(files []string, than time.Time) bool {
	return !than.IsZero() && slices.ContainsFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.ModTime().After(than.Add(-10*time.Millisecond)) && !info.ModTime().After(time.Now())
	})
}
