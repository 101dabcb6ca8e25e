//go:build !linux

package importer

func peakMemory() int64 { return 0 }
