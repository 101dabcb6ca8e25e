package main

// saysNothing ends without a word when somebody starts it by hand.
func saysNothing() { bare{mute: true}.serve() }
