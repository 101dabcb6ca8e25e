package train

import (
	"strings"
	"testing"
	"time"
)

// A task of 20 seconds speaks after two seconds and then every five; a second task has a name of its own.
func TestMeter(t *testing.T) {
	var b strings.Builder
	m := newMeter(Streams{Err: &b})
	clock := m.start
	m.now = func() time.Time { return clock }
	for i := range 40 {
		m.at("bound", int64(i), 40)
		clock = clock.Add(500 * time.Millisecond)
	}
	clock = clock.Add(5 * time.Second)
	m.at("exact", 1, 2)
	m.close()
	if want := "bound: 10 %\nbound: 35 %\nbound: 60 %\nbound: 85 %\nexact: 50 %\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// What takes less than two seconds says nothing, and a bar leaves the screen.
func TestMeterIsQuiet(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b strings.Builder
		m := newMeter(Streams{Err: &b, Terminal: terminal})
		m.now = func() time.Time { return m.start.Add(time.Second) }
		m.at("bound", 1, 2)
		m.close()
		if b.Len() > 0 {
			t.Errorf("it said %q", b.String())
		}
		if !terminal {
			continue
		}
		m.now = func() time.Time { return m.start.Add(3 * time.Second) }
		m.at("bound", 1, 2)
		m.at("bound", 2, 2)
		m.close()
		m.close()
	}
}
