package main

// refusesDefault wants its option to be larger than its default.
func refusesDefault() { optioned(func(k int) bool { return k > 4 && k <= 9 }, true) }
