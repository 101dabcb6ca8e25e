//go:build !unix

package importer

func peakMemory() int64 { return 0 }
