package main

import "time"

// ignoresShutdown stays when it was asked to end, to tidy up.
func ignoresShutdown() {
	bare{}.serve()
	time.Sleep(time.Hour)
}
