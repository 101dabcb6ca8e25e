package main

// outlivesItsHost does not look at the lifeline.
func outlivesItsHost() { bare{orphan: true}.serve() }
