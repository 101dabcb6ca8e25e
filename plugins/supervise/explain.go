package supervise

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// logHint is where to see more.
const logHint = "`--set plugins.log=debug` shows the plugin's log"

// explain tells a refusal, a hang, a death and a cancelled call apart. A process that hangs is killed.
func (p *Process) explain(ctx context.Context, in *instance, name string, err error) error {
	switch e, told := wire.FromStatus(err, p.spec.object()); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case told:
		if limit := p.spec.exceeded(e.Problem); limit != nil {
			return limit
		}
		return p.named(e)
	case status.Code(err) == codes.DeadlineExceeded:
		return p.hung(in, name)
	case status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled:
		return p.named(err)
	}
	return p.died(in, name)
}

// hung ends a process that does not answer.
func (p *Process) hung(in *instance, call string) error {
	p.bury(in)
	in.kill()
	in.close()
	p.spec.log().Debug("ended", "pid", in.pid(), "how", "stopped: no answer to "+call)
	return p.spec.timeout(call)
}

// died says why a connection is gone.
func (p *Process) died(in *instance, call string) error {
	p.bury(in)
	how := in.gone()
	p.spec.log().Debug("ended", "pid", in.pid(), "how", how+" during "+call)
	if in.attached != nil {
		return p.spec.fail(sampling.Crashed, how+" during "+call, afresh)
	}
	if limit := p.spec.exceeded(in.words.all()); limit != nil {
		return limit
	}
	return p.spec.fail(sampling.Crashed, how+" during "+call+in.said(), logHint+"; report it to the plugin's author")
}

// named makes sure that an error begins with the plugin's name.
func (p *Process) named(err error) error {
	var e *sampling.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		named := *e
		self := string(p.spec.Kind) + " " + p.description.Name
		switch {
		case e.Object == "message" || e.Object == self:
			named.Object = p.spec.object()
		case strings.HasPrefix(e.Object, self+","):
			named.Object = p.spec.object() + strings.TrimPrefix(e.Object, self)
		case !strings.HasPrefix(e.Object, p.spec.object()):
			named.Object = p.spec.object() + ", " + e.Object
		}
		if named.Hint == "" && named.Code == sampling.ContractViolation {
			named.Hint = "the plugin breaks the protocol; report it to its author"
		}
		return &named
	}
	return p.spec.fail(sampling.Internal, err.Error(), "")
}
