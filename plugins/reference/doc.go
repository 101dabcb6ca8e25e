// Package reference writes the reference of plugins as Markdown: of the protocol, from the comments of plugin.proto, and of single
// plugins, from what they say of themselves. It belongs to the host's side; authors' kits do not import it.
package reference

import "strings"

// cell makes text fit for a cell of a table, whoever wrote it: one line, no bar that ends the cell, no tag.
func cell(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;").Replace(line(s))
}

// line is the text on one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// code marks text as code. What would end the mark is replaced, since plugins' names are anybody's.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", `\|`, `\ \|`, "|", `\|`).Replace(line(s)) + "`"
}

// row is a row of a table.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// header begins a table.
func header(titles ...string) string {
	return row(titles...) + "|" + strings.Repeat("---|", len(titles)) + "\n"
}
