package main

// sound is in order.
func sound() { optioned(func(k int) bool { return k >= 1 && k <= 9 }, true) }
