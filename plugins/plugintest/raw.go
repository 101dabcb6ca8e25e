package plugintest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// raw is a plugin's process without a supervisor, for what a supervisor keeps from happening.
type raw struct {
	kind   sampling.Kind
	cmd    *exec.Cmd
	hold   *os.File // the host's end of the lifeline
	conn   *grpc.ClientConn
	dir    string
	exited chan struct{}

	noise   []string // lines after the handshake; to be read when the process is gone
	closing sync.Once
}

// command is the plugin's command line, in a group of processes of its own.
func (s *session) command() (*exec.Cmd, error) {
	cmd, err := s.target.launch.Command()
	if err != nil {
		return nil, err
	}
	apart(cmd)
	return cmd, nil
}

// raw starts the process and reads its handshake. The shared one is ended first: whether two can live side by side is no question here.
func (s *session) raw() (*raw, error) {
	s.drop()
	cmd, err := s.command()
	if err != nil {
		return nil, err
	}
	r := &raw{kind: s.target.kind, cmd: cmd, exited: make(chan struct{})}
	if r.dir, err = os.MkdirTemp("", "mdmhost-check-"); err != nil {
		return nil, err
	}
	hear, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = hear.Close() }()
	r.hold = hold
	cmd.ExtraFiles = []*os.File{hear}
	cmd.Env = append(cmd.Env, wire.Handshake.MagicCookieKey+"="+wire.Handshake.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS="+strconv.Itoa(wire.Version),
		plugin.EnvUnixSocketDir+"="+r.dir, wire.LifelineVar+"=3")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(pipe)
		lines.Buffer(nil, 1<<20)
		if lines.Scan() {
			first <- lines.Text()
		}
		close(first)
		for lines.Scan() {
			r.noise = append(r.noise[:min(len(r.noise), 100)], lines.Text())
		}
		_ = cmd.Wait()
		close(r.exited)
	}()
	select {
	case line := <-first:
		fields := strings.Split(line, "|")
		if len(fields) < 5 || fields[2] != "unix" {
			r.close()
			return nil, fmt.Errorf("expected the handshake 1|1|unix|PATH|grpc, found %q", line)
		}
		r.conn, err = grpc.NewClient("unix:"+fields[3], append(wire.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	case <-time.After(s.starts()):
		err = errors.New("no handshake")
	case <-s.ctx.Done():
		err = s.ctx.Err()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// starts is how long a start may take.
func (s *session) starts() time.Duration {
	if d := s.target.launch.Deadlines.Start; d > 0 {
		return d
	}
	return 10 * time.Second
}

// close ends the process and leaves nothing behind. It may be called twice.
func (r *raw) close() {
	r.closing.Do(func() {
		if r.conn != nil {
			_ = r.conn.Close()
		}
		_ = r.hold.Close()
		if !r.gone(grace / 4) { // most end by themselves, in good order
			slay(r.cmd)
		}
		<-r.exited
		_ = os.RemoveAll(r.dir)
	})
}

// gone waits for the end of the process.
func (r *raw) gone(within time.Duration) bool {
	select {
	case <-r.exited:
		return true
	case <-time.After(within):
		return false
	}
}

func (r *raw) describe(ctx context.Context) (*pb.DescribeReply, error) {
	switch r.kind {
	case sampling.KindSampler:
		return pb.NewSamplerClient(r.conn).Describe(ctx, &pb.DescribeRequest{})
	case sampling.KindTrainer:
		return pb.NewTrainerClient(r.conn).Describe(ctx, &pb.DescribeRequest{})
	}
	return pb.NewPlannerClient(r.conn).Describe(ctx, &pb.DescribeRequest{})
}

func (r *raw) start(ctx context.Context, run sampling.Run) (err error) {
	switch r.kind {
	case sampling.KindSampler:
		_, err = pb.NewSamplerClient(r.conn).Start(ctx, wire.RunToProto(run))
	case sampling.KindPlanner:
		_, err = pb.NewPlannerClient(r.conn).Start(ctx, wire.RunToProto(run))
	}
	return err
}

// end ends a run; the error has a code.
func (r *raw) end(ctx context.Context, within time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch r.kind {
	case sampling.KindSampler:
		_, err = pb.NewSamplerClient(r.conn).End(ctx, &pb.EndRequest{})
	case sampling.KindTrainer:
		_, err = pb.NewTrainerClient(r.conn).End(ctx, &pb.EndRequest{})
	default:
		_, err = pb.NewPlannerClient(r.conn).End(ctx, &pb.EndRequest{})
	}
	if err == nil {
		return nil
	}
	if told, ok := wire.FromStatus(err, "plugin"); ok {
		return told
	}
	return &sampling.Error{Code: sampling.Crashed, Object: "plugin", Problem: err.Error()}
}
