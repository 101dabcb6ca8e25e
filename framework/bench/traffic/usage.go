package traffic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is what the server and the processes that it started use: on Linux, from /proc.
type Usage struct {
	CPU       time.Duration // since their starts; that of ended ones counts once the server has waited for them
	Memory    int64         // resident bytes of the server alone; its plugins share what they do not write
	Files     int           // open ones of the server
	Processes []int         // that it started, by number
}

// ticks is the unit of times in /proc, which is the same on every Linux.
const ticks = 10 * time.Millisecond

// Usage reads what is used now.
func (s *Server) Usage() (Usage, error) {
	u := Usage{}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(all) == 0 {
		return u, errors.Join(err, errors.New("there is no /proc; usage is counted on Linux alone"))
	}
	parents, times := map[int]int{}, map[int]time.Duration{}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid ... utime stime cutime cstime, the 14th to the 17th; a name may hold anything
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if len(fields) < 15 {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		for _, f := range fields[11:15] {
			n, _ := strconv.Atoi(f)
			times[pid] += time.Duration(n) * ticks
		}
	}
	if _, there := times[s.PID]; !there {
		return u, fmt.Errorf("process %d is gone: %s", s.PID, s.Said())
	}
	u.CPU = times[s.PID]
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == s.PID {
				u.Processes, u.CPU = append(u.Processes, pid), u.CPU+times[pid]
				break
			}
		}
	}
	slices.Sort(u.Processes)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID))
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID))
	if err != nil {
		return u, err
	}
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		u.Memory = pages * int64(os.Getpagesize())
	}
	return u, nil
}
