package sdk

import (
	"context"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// logs writes what authors say with log/slog to the host's log, with level and attributes. Attributes of groups are named
// "group.attribute".
type logs struct {
	to     hclog.Logger
	prefix string // of attributes, such as "group."
	args   []any  // names and values
}

// Enabled tells whether the host may hear of it; which of that it shows is for its own settings to say.
func (l logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelDebug }

// Handle writes one line.
func (l logs) Handle(_ context.Context, r slog.Record) error {
	args := slices.Clip(l.args)
	r.Attrs(func(a slog.Attr) bool {
		args = flatten(args, l.prefix, a)
		return true
	})
	l.to.Log(severity(r.Level), r.Message, args...)
	return nil
}

// WithAttrs returns a handler that writes the attributes, too.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.args = slices.Clip(l.args)
	for _, a := range attrs {
		l.args = flatten(l.args, l.prefix, a)
	}
	return l
}

// WithGroup returns a handler that puts a name before those of later attributes.
func (l logs) WithGroup(name string) slog.Handler {
	if name != "" {
		l.prefix += name + "."
	}
	return l
}

// flatten adds an attribute, or those of a group, to names and values.
func flatten(args []any, prefix string, a slog.Attr) []any {
	value := a.Value.Resolve()
	switch {
	case value.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range value.Group() {
			args = flatten(args, prefix, member)
		}
		return args
	case a.Equal(slog.Attr{}):
		return args
	case value.Kind() == slog.KindDuration:
		return append(args, prefix+a.Key, value.Duration().String())
	}
	return append(args, prefix+a.Key, value.Any())
}

func severity(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
