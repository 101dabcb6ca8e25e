package scaffold

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

// templates holds LANGUAGE/KIND, the sources of a plugin, and LANGUAGE/project, what all plugins in a language have. The sources
// are real ones, of plugins my-planner, my-sampler, my-trainer or my-plugin: the name is all that is replaced in them. A file .tmpl is a
// template with [[ and ]] around what is filled in.
//
//go:embed all:template
var templates embed.FS

// file is one file of a project.
type file struct {
	path    string // below the project's folder, with slashes
	content []byte
}

// executable tells whether the file is a program: it begins as a script does.
func (f file) executable() bool { return bytes.HasPrefix(f.content, []byte("#!")) }

// render fills the templates in.
func (p Project) render() ([]file, error) {
	license, err := templates.ReadFile("template/LICENSE")
	if err != nil {
		return nil, err
	}
	files := []file{{"LICENSE", license}}
	for _, root := range []string{"project", string(p.Kind)} {
		root = path.Join("template", p.Language, root)
		err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := templates.ReadFile(name)
			if err != nil {
				return err
			}
			f := file{strings.TrimPrefix(name, root+"/"), content}
			if f, err = p.fill(f); err == nil {
				files = append(files, f)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fill puts the project's name into a file and its path.
func (p Project) fill(f file) (file, error) {
	kind := string(p.Kind)
	name := strings.NewReplacer("my-"+kind, p.Name, "my_"+kind, p.Ident(), "my-plugin", p.Name, "my_plugin", p.Ident())
	f.path = name.Replace(f.path)
	if !strings.HasSuffix(f.path, ".tmpl") {
		f.content = []byte(name.Replace(string(f.content)))
		return f, nil
	}
	t, err := template.New(f.path).Delims("[[", "]]").Option("missingkey=error").Parse(string(f.content))
	if err != nil {
		return f, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return f, err
	}
	return file{strings.TrimSuffix(f.path, ".tmpl"), out.Bytes()}, nil
}
