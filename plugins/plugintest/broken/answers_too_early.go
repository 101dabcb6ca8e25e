package main

// answersTooEarly answers before a run was started.
func answersTooEarly() { bare{}.serve() }
