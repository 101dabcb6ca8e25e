package main

// takesAnyOption reads its options with encoding/json, which leaves out what it does not know.
func takesAnyOption() { optioned(func(k int) bool { return k >= 1 && k <= 9 }, false) }
