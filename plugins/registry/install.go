package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/wholefile"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Installation says how to install.
type Installation struct {
	Source string   // a folder, a .tar.gz, or oci:LAYOUT[:TAG]
	Force  bool     // replace another version
	Own    []string // names of first-party plugins, which no other may take
	Log    io.Writer

	only *wanted // nil: whatever the source holds
}

// wanted is the one plugin that a source must hold.
type wanted struct {
	name string
	pin  Pin
	lock string // that pins it
}

// Installed is what came of an installation.
type Installed struct {
	Plugin *Plugin
	Digest string
	Listed bool // the source had a SHA256SUMS, which its files fit
	Before *Pin // of another version, which was replaced
}

// Install puts a plugin into the home and pins it in its lock. The files are copied to a folder beside the plugins and compared with
// the source's SHA256SUMS, if there is one; the plugin's own setup runs in that folder; then it gets its name in one step. After
// an error everything is as before, but where the lock alone could not be written: a run refuses the plugin then, by its old pin.
func (h Home) Install(ctx context.Context, i Installation) (_ *Installed, err error) {
	release, err := h.hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	var folders []string
	fail := func(err error) (*Installed, error) {
		return nil, fmt.Errorf("plugin from %s: %w", i.Source, &inSource{err, folders, i.Source})
	}
	lock, err := ReadLock(h.Lock)
	if err != nil {
		return nil, err
	}
	scratch, err := h.part("source")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the next to hold the home does it, too
	folders = append(folders, scratch)
	source, digest, err := sourceFolder(ctx, i.Source, scratch)
	if coded := (*sampling.Error)(nil); errors.As(err, &coded) {
		return nil, err
	}
	if err != nil {
		return fail(err)
	}
	from, err := Open(source)
	if err != nil {
		return fail(err)
	}
	if err := i.allowed(from.Manifest); err != nil {
		return nil, err
	}
	stage, err := h.part(from.Name)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage) //nolint:errcheck // the next to hold the home does it, too
	folders = append(folders, stage)
	to := &Plugin{Name: from.Name, Path: stage, Manifest: from.Manifest}
	sums, listed, err := copyPlugin(from, to)
	if err != nil {
		return fail(err)
	}
	out := &Installed{Digest: sums.Digest(), Listed: listed,
		Plugin: &Plugin{Name: from.Name, Path: filepath.Join(h.Plugins, from.Name), Manifest: from.Manifest}}
	if digest != "" && digest != out.Digest {
		return fail(fmt.Errorf("its annotation %s is %s, and its files are %s; get it again, or ask who packed it", DigestKey, digest, out.Digest))
	}
	if err := i.only.is(from.Name, out.Digest); err != nil {
		return fail(err)
	}
	if out.Before, err = h.before(lock, out, i.Force); err != nil {
		return nil, err
	}
	if err := to.setUp(ctx, i.Log); err != nil {
		return fail(err)
	}
	pin := Pin{Version: from.Manifest.Version, Digest: out.Digest}
	if pin.Source, err = lock.sourceKey(i.Source); err != nil {
		return nil, err
	}
	if err := h.put(stage, from.Name); err != nil {
		return fail(err)
	}
	lock.Plugins[from.Name] = pin
	return out, lock.Save()
}

// allowed tells whether a plugin of this manifest may be installed.
func (i *Installation) allowed(m *Manifest) error {
	object := string(m.Kind) + " " + m.Name
	if slices.Contains(i.Own, m.Name) {
		return invalid(object, "is the name of a plugin in this program, which no other may take", "give it another name in "+ManifestFile)
	}
	if m.Protocol != wire.Version {
		return &sampling.Error{Code: sampling.UnsupportedProtocol, Object: object,
			Problem: fmt.Sprintf("it speaks protocol version %d, this host speaks version %d", m.Protocol, wire.Version), Hint: "use a plugin and a host of the same protocol"}
	}
	_, err := m.EntryHere()
	return err
}

// is refuses every other plugin, before anything of it runs.
func (w *wanted) is(name, digest string) error {
	switch {
	case w == nil:
		return nil
	case name != w.name:
		return fmt.Errorf("it holds %s, and %s says that %s comes from there; install the one that you want by its source, or `mdmhost plugin remove %s`", name, w.lock, w.name, w.name)
	case digest != w.pin.Digest:
		return fmt.Errorf("it holds %s %s, and %s pins %s%s; to take the other, install it by its source with --force", w.name, digest, w.lock, w.pin.Digest, of(w.pin.Version))
	}
	return nil
}

// before finds what the installation would replace: what is installed, or what the lock of a fresh checkout pins. Another version,
// or other files of the same, must be replaced by force.
func (h Home) before(lock *Lock, now *Installed, force bool) (*Pin, error) {
	name, where := now.Plugin.Name, h.Plugins+" holds "
	old, there := Pin{}, false
	if _, err := os.Lstat(filepath.Join(h.Plugins, name)); err == nil {
		there = true
		if p, err := openIn(search{h.Plugins, Project}, name); err == nil {
			old.Version = p.Manifest.Version
			if sums, err := p.Sums(); err == nil && sums != nil {
				old.Digest = sums.Digest()
			}
		}
	}
	if pin, pinned := lock.Plugins[name]; pinned && (!there || old.Digest == now.Digest) {
		old, there, where = pin, true, lock.Path+" pins "
	}
	if !there || old.Digest == now.Digest {
		return nil, nil
	}
	if !force {
		what := "version " + cmp.Or(old.Version, "unknown")
		if old.Version == now.Plugin.Manifest.Version {
			what += " with other files"
		}
		return nil, invalid(string(now.Plugin.Kind())+" "+name, where+what+", this is "+now.Plugin.Manifest.Version, "replace it with --force")
	}
	return &old, nil
}

// copyPlugin copies what belongs to a plugin into an empty folder and writes the SHA256SUMS of the copy, which must fit that of
// the source, if there is one.
func copyPlugin(from, to *Plugin) (_ Sums, listed bool, err error) {
	f, err := openListed(from.Path, from.Manifest)
	if err != nil {
		return nil, false, err
	}
	defer f.root.Close() //nolint:errcheck // only read
	names, missing, err := f.belonging()
	if err != nil {
		return nil, false, err
	}
	if len(missing) > 0 && f.sums == nil {
		return nil, false, fmt.Errorf("%s, which %s declares, is missing; make it, or take it out", strings.Join(missing, ", "), ManifestFile)
	}
	into, err := os.OpenRoot(to.Path)
	if err != nil {
		return nil, false, err
	}
	defer into.Close() //nolint:errcheck // its files are closed
	for _, name := range names {
		if slices.Contains(missing, name) {
			continue // told by Verify
		}
		if err := copyFile(f.root, into, name, slices.Contains(f.m.programs(), name)); err != nil {
			return nil, false, err
		}
	}
	if f.sums != nil {
		if err := into.WriteFile(SumsFile, f.sums.Bytes(), 0o644); err != nil {
			return nil, false, err
		}
		sums, err := to.Verify()
		return sums, true, err
	}
	sums, err := to.Hash()
	if err != nil {
		return nil, false, err
	}
	return sums, false, wholefile.ReplaceBytes(filepath.Join(to.Path, SumsFile), sums.Bytes())
}

func copyFile(from, to *os.Root, name string, program bool) error {
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	copied, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(modeOf(info, program)))
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, f)
	return errors.Join(err, copied.Sync(), copied.Close())
}
