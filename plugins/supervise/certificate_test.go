package supervise_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// sockets lists those of the plugin that runs.
func sockets(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(os.TempDir(), "mdmhost-sockets-*", "plugin-dir*", "plugin*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stranger calls at a socket as somebody who is not the other side, first in plain text, then by TLS without a certificate.
func stranger(t *testing.T, socket string, call func(context.Context, *grpc.ClientConn) error) (plain, encrypted error) {
	t.Helper()
	ask := func(c credentials.TransportCredentials) error {
		conn, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(c),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial("unix", socket) }))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return call(t.Context(), conn)
	}
	return ask(insecure.NewCredentials()), ask(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}))
}

func describe(ctx context.Context, c *grpc.ClientConn) error {
	_, err := pb.NewPlannerClient(c).Describe(ctx, &pb.DescribeRequest{})
	return err
}

func admit(ctx context.Context, c *grpc.ClientConn) error {
	_, err := pb.NewSessionClient(c).Admit(ctx, &pb.AdmitRequest{})
	return err
}

func TestAPlannerWithCertificates(t *testing.T) {
	_, planner := started(t, supervise.Spec{Name: "calm", MTLS: true})
	if out, err := plan(planner, step()); err != nil || len(out[0].Open) != 1 {
		t.Fatalf("decisions %v, %v", out, err)
	}
	at := sockets(t)
	if len(at) != 1 {
		t.Fatalf("sockets %v, expected the plugin's", at)
	}
	if plain, encrypted := stranger(t, at[0], describe); plain == nil || encrypted == nil {
		t.Errorf("a stranger is answered: in plain text %v, by TLS %v", plain, encrypted)
	}
}

// Without certificates the folder's permissions alone keep others out: who may enter is answered.
func TestAPlannerWithoutCertificates(t *testing.T) {
	started(t, supervise.Spec{Name: "calm"})
	if plain, _ := stranger(t, sockets(t)[0], describe); plain != nil {
		t.Error(plain)
	}
}

// peeking is a session that calls at the sockets there are, as a stranger, while it serves.
type peeking struct {
	recorder
	t    *testing.T
	seen int
}

func (p *peeking) Admit(ctx context.Context) ([]sampling.RowState, error) {
	for _, at := range sockets(p.t) {
		p.seen++
		if plain, encrypted := stranger(p.t, at, admit); plain == nil || encrypted == nil {
			p.t.Errorf("a stranger is answered: in plain text %v, by TLS %v", plain, encrypted)
		}
	}
	return p.recorder.Admit(ctx)
}

func TestASamplerWithCertificates(t *testing.T) {
	p, err := launch(t, supervise.Spec{Kind: sampling.KindSampler, Name: "masked", MTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampler()
	if _, err := s.Start(t.Context(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a session each
		session := &peeking{t: t}
		if err := s.Sample(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		if session.seen != 2 || len(session.asked) == 0 {
			t.Errorf("%d sockets, expected the plugin's and the session's; asked %v", session.seen, session.asked)
		}
	}
}

func TestATrainerWithCertificates(t *testing.T) {
	p, err := launch(t, supervise.Spec{Kind: sampling.KindTrainer, Name: "trainer", MTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Trainer().Build(t.Context(), trainingTask()); err != nil {
		t.Error(err)
	}
}

func TestAPluginThatKnowsNoCertificates(t *testing.T) {
	_, err := launch(t, supervise.Spec{Name: "uncertified", MTLS: true})
	check(t, err, sampling.UnsupportedProtocol, "planner uncertified: UNSUPPORTED_PROTOCOL: it does not answer with a certificate, and mutual TLS is asked for; *plugins.mtls=false")
}
