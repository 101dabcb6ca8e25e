package plugintest

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// rawly starts a process for a check and calls f.
func (s *session) rawly(check string, f func(r *raw)) {
	r, err := s.raw()
	if err != nil {
		if s.ctx.Err() == nil {
			s.find(Error, check, "start the same way every time", "a fresh process: %v", err)
		}
		return
	}
	defer r.close()
	f(r)
}

func (s *session) descriptionStable() {
	const check = "description-stable"
	s.rawly(check, func(r *raw) {
		ctx, cancel := context.WithTimeout(s.ctx, s.o.Call)
		defer cancel()
		before, err := r.describe(ctx)
		if err == nil {
			err = r.start(ctx, s.run)
		}
		if err == nil {
			err = r.end(ctx, s.o.Call)
		}
		after := before
		if err == nil {
			after, err = r.describe(ctx)
		}
		if err != nil {
			s.find(Error, check, "answer Describe at any time", "Describe, Start, End, Describe: %v", err)
			return
		}
		if !proto.Equal(before, after) {
			s.find(Error, check, "make the description once", "the description after a run is another: expected %v, found %v", before, after)
		}
		if now, err := wire.DescriptionFromProto(before); err == nil && (now.Name != s.about.Name || now.Needs.String() != s.about.Needs.String() || now.OptionsSchema != s.about.OptionsSchema) {
			s.find(Error, check, "make the description of constants: no clock, no map order", "the description of a fresh process is another than that of the first")
		}
	})
}

func (s *session) byHand() {
	cmd, err := s.command()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.starts())
	defer cancel()
	hand := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	hand.Dir, hand.Env = cmd.Dir, cmd.Env
	apart(hand)
	hand.Cancel = func() error { slay(hand); return nil }
	hand.WaitDelay = time.Second
	out, _ := hand.CombinedOutput() // any status will do
	switch {
	case s.ctx.Err() != nil:
	case ctx.Err() != nil:
		s.find(Warning, "by-hand", "without the environment variable "+wire.Handshake.MagicCookieKey+" print what it is to standard error, and exit", "started by hand, it did not end within %v", s.starts())
	case len(strings.TrimSpace(string(out))) == 0:
		s.find(Warning, "by-hand", "without the environment variable "+wire.Handshake.MagicCookieKey+" print what it is to standard error, and exit", "started by hand, it ended without a word")
	}
}

func (s *session) stdout() {
	s.rawly("stdout", func(r *raw) {
		ctx, cancel := context.WithTimeout(s.ctx, s.o.Call)
		defer cancel()
		err := errors.Join(r.start(ctx, s.run), r.end(ctx, s.o.Call)) // what goes wrong is told elsewhere
		if s.target.kind == sampling.KindTrainer && err == nil {
			_, _ = pb.NewTrainerClient(r.conn).Build(ctx, wire.TaskToProto(&task))
		}
		r.close()
		if len(r.noise) > 0 {
			s.find(Note, "stdout", "print to standard error, or through the kit's log", "it prints on standard output after the handshake, where nobody reads it: %q", r.noise[0])
		}
	})
}

func (s *session) sigterm() {
	s.ends("sigterm", func(r *raw) error { return terminate(r.cmd.Process.Pid) }, func() {
		s.find(Warning, "sigterm", "leave SIGTERM to the system, or exit where it is caught", "after SIGTERM the process was still there for %v", grace)
	})
}

func (s *session) lifeline() {
	s.ends("lifeline", func(r *raw) error { return r.hold.Close() }, func() {
		s.find(Error, "lifeline", "read the file descriptor that "+wire.LifelineVar+" names, and exit when the read ends; the kits do", "when the host had gone, the process was still there after %v", grace)
	})
}

// ends does to a process what should end it, and tells when it did not; twice before it blames anybody, as machines are busy.
func (s *session) ends(check string, by func(*raw) error, told func()) {
	for range 2 {
		gone := true
		s.rawly(check, func(r *raw) {
			if err := by(r); err != nil {
				s.skip(check, err.Error())
			} else {
				gone = r.gone(grace)
			}
		})
		if gone {
			return
		}
	}
	told()
}
