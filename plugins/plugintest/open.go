package plugintest

import (
	"context"
	"errors"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Open finds out of which kind the plugin of a spec is, where its Kind is not set: it is started as each in turn. A program that does
// not start, or is none of them, is taken for a planner, so that [Check] says what is wrong with it. The error is that of ctx.
func Open(ctx context.Context, launch supervise.Spec) (supervise.Spec, error) {
	if launch.Kind != "" {
		return launch, nil
	}
	for _, kind := range sampling.Kinds {
		as := launch
		as.Kind = kind
		p, err := supervise.Launch(ctx, as)
		if err == nil {
			return as, p.Close()
		}
		var coded *sampling.Error
		if ctx.Err() != nil {
			return launch, ctx.Err()
		}
		if !errors.As(err, &coded) || coded.Code != sampling.UnsupportedProtocol {
			break
		}
	}
	launch.Kind = sampling.KindPlanner
	return launch, nil
}
