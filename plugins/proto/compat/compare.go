// Package compat keeps the plugin protocol compatible with itself: it compares two states of the protocol's descriptor and tells what
// of the newer one would break plugins and hosts that were built with the older one, and what is only added.
package compat

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Changes are what lies between two states of the protocol, one sentence each.
type Changes struct {
	Breaking []string // those who were built before no longer understand those built after, or read something else
	Added    []string // those who were built before ignore it
}

// Compare returns the changes from old to now. Names count as much as numbers: the kits of other languages, recordings and schemas
// say them.
func Compare(old, now protoreflect.FileDescriptor) Changes {
	var c Changes
	if old.Package() != now.Package() {
		c.breaks("package %s is now %s", old.Package(), now.Package())
		return c // every full name differs
	}
	if old.Syntax() != now.Syntax() {
		c.breaks("syntax %s is now %s", old.Syntax(), now.Syntax())
	}
	c.messages(old.Messages(), now.Messages())
	c.enums(old.Enums(), now.Enums())
	c.services(old.Services(), now.Services())
	return c
}

func (c *Changes) breaks(format string, args ...any) {
	c.Breaking = append(c.Breaking, fmt.Sprintf(format, args...))
}

func (c *Changes) adds(format string, args ...any) {
	c.Added = append(c.Added, fmt.Sprintf(format, args...))
}

func (c *Changes) messages(old, now protoreflect.MessageDescriptors) {
	for i := range old.Len() {
		was := old.Get(i)
		is := now.ByName(was.Name())
		if is == nil {
			c.breaks("message %s is gone", local(was))
			continue
		}
		c.fields(was, is)
		c.messages(was.Messages(), is.Messages())
		c.enums(was.Enums(), is.Enums())
	}
	for i := range now.Len() {
		if m := now.Get(i); old.ByName(m.Name()) == nil {
			c.adds("message %s", local(m))
		}
	}
}

func (c *Changes) fields(old, now protoreflect.MessageDescriptor) {
	for i := range old.Fields().Len() {
		was := old.Fields().Get(i)
		is, moved := now.Fields().ByNumber(was.Number()), now.Fields().ByName(was.Name())
		switch {
		case moved != nil && moved.Number() != was.Number():
			c.breaks("field %s had number %d and has %d", local(was), was.Number(), moved.Number())
		case is == nil:
			c.breaks("field %s, number %d, is gone", local(was), was.Number())
		case is.Name() != was.Name():
			c.breaks("field %s, number %d, is now called %s", local(was), was.Number(), is.Name())
		case shape(was) != shape(is):
			c.breaks("field %s was %s and is %s", local(was), shape(was), shape(is))
		}
	}
	for i := range now.Fields().Len() {
		f := now.Fields().Get(i)
		if old.Fields().ByNumber(f.Number()) != nil || old.Fields().ByName(f.Name()) != nil {
			continue // told above
		}
		if old.ReservedRanges().Has(f.Number()) || old.ReservedNames().Has(f.Name()) {
			c.breaks("field %s, number %d, takes a number or a name that is reserved", local(f), f.Number())
			continue
		}
		c.adds("field %s, number %d, %s", local(f), f.Number(), shape(f))
	}
	for i := range old.ReservedRanges().Len() {
		if r := old.ReservedRanges().Get(i); !now.ReservedRanges().Has(r[0]) || !now.ReservedRanges().Has(r[1]-1) {
			c.breaks("message %s no longer reserves the numbers %d to %d", local(old), r[0], r[1]-1)
		}
	}
}

// shape is everything of a field but its name and number that its bytes and its readers depend on.
func shape(f protoreflect.FieldDescriptor) string {
	s := f.Kind().String()
	switch {
	case f.IsMap():
		return fmt.Sprintf("a map from %s to %s", shape(f.MapKey()), shape(f.MapValue()))
	case f.Message() != nil:
		s = string(f.Message().FullName())
	case f.Enum() != nil:
		s = string(f.Enum().FullName())
	}
	switch {
	case f.IsList():
		s = "repeated " + s
	case f.HasOptionalKeyword():
		s = "optional " + s
	case f.Cardinality() == protoreflect.Required:
		s = "required " + s
	case f.ContainingOneof() != nil:
		s += " in the oneof " + string(f.ContainingOneof().Name())
	}
	return s
}

func (c *Changes) enums(old, now protoreflect.EnumDescriptors) {
	for i := range old.Len() {
		was := old.Get(i)
		is := now.ByName(was.Name())
		if is == nil {
			c.breaks("enum %s is gone", local(was))
			continue
		}
		c.values(was, is)
	}
	for i := range now.Len() {
		if e := now.Get(i); old.ByName(e.Name()) == nil {
			c.adds("enum %s", local(e))
		}
	}
}

func (c *Changes) values(old, now protoreflect.EnumDescriptor) {
	for i := range old.Values().Len() {
		was := old.Values().Get(i)
		switch is := now.Values().ByName(was.Name()); {
		case is != nil && is.Number() != was.Number():
			c.breaks("enum value %s was %d and is %d", local(was), was.Number(), is.Number())
		case is == nil && now.Values().ByNumber(was.Number()) != nil:
			c.breaks("enum value %s, %d, is now called %s", local(was), was.Number(), now.Values().ByNumber(was.Number()).Name())
		case is == nil:
			c.breaks("enum value %s, %d, is gone", local(was), was.Number())
		}
	}
	for i := range now.Values().Len() {
		if v := now.Values().Get(i); old.Values().ByName(v.Name()) == nil && old.Values().ByNumber(v.Number()) == nil {
			c.adds("enum value %s, %d", local(v), v.Number())
		}
	}
}

func (c *Changes) services(old, now protoreflect.ServiceDescriptors) {
	for i := range old.Len() {
		was := old.Get(i)
		is := now.ByName(was.Name())
		if is == nil {
			c.breaks("service %s is gone", local(was))
			continue
		}
		for j := range was.Methods().Len() {
			m := was.Methods().Get(j)
			switch n := is.Methods().ByName(m.Name()); {
			case n == nil:
				c.breaks("method %s is gone", local(m))
			case call(m) != call(n):
				c.breaks("method %s was %s and is %s", local(m), call(m), call(n))
			}
		}
		for j := range is.Methods().Len() {
			if m := is.Methods().Get(j); was.Methods().ByName(m.Name()) == nil {
				c.adds("method %s", local(m))
			}
		}
	}
	for i := range now.Len() {
		if s := now.Get(i); old.ByName(s.Name()) == nil {
			c.adds("service %s", local(s))
		}
	}
}

// call is what a method takes and gives.
func call(m protoreflect.MethodDescriptor) string {
	stream := func(is bool, name protoreflect.FullName) string {
		if is {
			return "stream " + string(name)
		}
		return string(name)
	}
	return stream(m.IsStreamingClient(), m.Input().FullName()) + " -> " + stream(m.IsStreamingServer(), m.Output().FullName())
}

// local is the name without the package.
func local(d protoreflect.Descriptor) string {
	return string(d.FullName())[len(d.ParentFile().Package())+1:]
}
