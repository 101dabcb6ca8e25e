package supervise

import (
	"strconv"
	"strings"
)

// Printable escapes what could steer a terminal: a plugin's words are anybody's.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
