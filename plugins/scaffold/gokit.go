package scaffold

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/mdmhost/mdmhost/framework"
	"github.com/mdmhost/mdmhost/plugins"
)

// goKit is the kit's source, a module of its own in the folder kit.
func goKit() ([]file, error) {
	license, err := templates.ReadFile("template/LICENSE")
	if err != nil {
		return nil, err
	}
	files := []file{{"kit/LICENSE", license}}
	for folder, source := range map[string]embed.FS{"framework": framework.Kit, "plugins": plugins.Kit} {
		err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			content, err := source.ReadFile(name)
			files = append(files, file{"kit/" + folder + "/" + name, content})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
