package importer

import (
	"fmt"
	"os"
	"strings"
)

// peakMemory is the most memory that the process had at once, in bytes, mapped files included. The account that getrusage keeps begins with
// that of the process which started this one.
func peakMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib int64
	for _, line := range strings.Split(string(text), "\n") {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			break
		}
	}
	return kib << 10
}
