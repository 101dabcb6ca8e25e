package data

import "path/filepath"

// Files lists what the rows were made of, under absolute names: the source files and the tokenizer's, or those of a prepared
// directory, whose digests are the ones that its index holds ([Data.Verify] compares them with the bytes).
func (d *Data) Files() []File {
	var out []File
	if v := d.Vocabulary; v.path != "" {
		out = append(out, File{absolute(v.path), int64(len(v.JSON)), v.Digest()})
	}
	for _, s := range d.shards {
		out = append(out, File{absolute(filepath.Join(d.dir, s.Name)), s.Bytes, s.SHA256})
	}
	if d.dir != "" {
		return out
	}
	known := map[string]bool{}
	for _, set := range []*Dataset{d.Train, d.Valid} {
		if set == nil {
			continue
		}
		for _, f := range set.sources {
			f.Name = absolute(f.Name)
			if !known[f.Name] {
				known[f.Name] = true
				out = append(out, f)
			}
		}
	}
	return out
}

// absolute is a name that means the same from every working directory.
func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}
