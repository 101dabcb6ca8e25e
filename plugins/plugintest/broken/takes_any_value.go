package main

// takesAnyValue does not look at the bounds that it documents.
func takesAnyValue() { optioned(func(int) bool { return true }, true) }
