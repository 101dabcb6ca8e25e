package results

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/replay"
)

// recorded are the rows of the recording that answers in place of a model, the first num of them where that is given.
func recorded(m *model.Model, cfg *config.Config) ([]sampling.Request, error) {
	name := cfg.Runtime.Recording
	r, err := replay.Read(name)
	if err != nil {
		return nil, err
	}
	begun := slices.SortedFunc(slices.Values(r.Rows), func(a, b sampling.TraceEvent) int { return int(min(max(a.Row-b.Row, -1), 1)) })
	if cfg.Given("num") {
		if cfg.Num > len(begun) {
			return nil, config.Problems{{Origin: cfg.Origin("num"), Key: "num", Text: fmt.Sprintf("%d, and %s holds %d rows; ask for no more, or record more", cfg.Num, name, len(begun))}}
		}
		begun = begun[:cfg.Num]
	}
	rows := make([]sampling.Request, len(begun))
	for i, e := range begun {
		switch {
		case e.Row < int64(i):
			return nil, fmt.Errorf("runtime.recording %s: holds row %d twice; give the trace of one run", name, e.Row)
		case e.Row > int64(i):
			return nil, fmt.Errorf("runtime.recording %s: lacks row %d; record a whole run, no shard of one", name, i)
		}
		fixed := make([]bool, len(e.Tokens))
		for j, token := range e.Tokens {
			fixed[j] = token != m.MaskID && !slices.Contains(e.Free, int32(j))
		}
		rows[i] = sampling.Request{Index: e.Row, Tokens: e.Tokens, Fixed: fixed, Steps: cfg.Steps, Params: params(cfg)}
	}
	return rows, nil
}
