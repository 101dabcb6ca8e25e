package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryEntryPointHasAnExample: in the packages of the kit, every exported function and method is used in an example, and each
// function by which a plugin is made or served has one of its own.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	for _, dir := range []string{".", "options", "trainer", "count", "catalog"} {
		shown, used := examples(t, dir)
		for name, own := range exported(t, dir) {
			if own && !shown["Example"+name] {
				t.Errorf("%s: there is no Example%s", dir, name)
			}
			if bare := name[strings.LastIndex(name, "_")+1:]; !used[bare] && !shown["Example"+name] {
				t.Errorf("%s: no example uses %s", dir, strings.ReplaceAll(name, "_", "."))
			}
		}
	}
}

// examples returns the names of a folder's examples, and all that they name.
func examples(t *testing.T, dir string) (shown, used map[string]bool) {
	shown, used = map[string]bool{}, map[string]bool{}
	for _, file := range parsed(t, dir, func(name string) bool { return strings.HasPrefix(name, "example_") }) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
				shown[f.Name.Name] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	return shown, used
}

// exported returns the functions and methods ("Type_Method") of a folder, and which must have an example of their own.
func exported(t *testing.T, dir string) map[string]bool {
	names := map[string]bool{}
	for _, file := range parsed(t, dir, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name := f.Name.Name
			if f.Recv == nil {
				names[name] = strings.HasPrefix(name, "Serve") || strings.HasPrefix(name, "New") || name == "Build" || name == "Drive" || name == "Parse" || name == "Schema" || name == "Needs" && dir == "."
				continue
			}
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			if of := receiver.(*ast.Ident); of.IsExported() {
				names[of.Name+"_"+name] = false
			}
		}
	}
	if len(names) == 0 {
		t.Errorf("%s: no function was found", dir)
	}
	return names
}

func parsed(t *testing.T, dir string, want func(name string) bool) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || !want(e.Name()) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
