package main

// protocolTwo speaks a protocol that does not exist yet.
func protocolTwo() { bare{version: 2}.serve() }
