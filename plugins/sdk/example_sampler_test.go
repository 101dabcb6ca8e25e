package sdk_test

import (
	"context"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Grid is what a user may set, as sampler.power.
type Grid struct {
	Power float64 `option:"power" default:"1" min:"0.1" max:"10" help:"times are (1 - i/steps)^power"`
}

// Powers steps all rows together, the planner deciding every step.
func Powers(o Grid, _ sampling.Run) (sdk.SampleFunc, error) {
	return func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
			var rows []sampling.Advance
			for _, r := range active {
				at := func(i int) float64 { return math.Pow(1-float64(i)/float64(r.Steps), o.Power) }
				t, s := at(r.Step), at(r.Step+1)
				rows = append(rows, sampling.Advance{Slot: r.Slot, T: t, S: s, AlphaT: 1 - t, AlphaS: 1 - s})
			}
			return s.Advance(ctx, rows)
		})
	}, nil
}

// The whole main function of a sampler.
func ExampleServeSampler() {
	sdk.ServeSampler(sdk.NewSampler("powers", Powers, sdk.Version("0.1.0"), sdk.Summary("times on a grid of powers")))
}

// A sampler refuses options as planners do.
func ExampleNewSampler() {
	s := sdk.NewSampler("powers", Powers)
	_, err := s.Start(context.Background(), sampling.Run{Options: []byte(`{"power": 11}`)})
	fmt.Println(err)
	// Output: sampler powers: INVALID_CONFIG: option power: expected a number from 0.1 to 10, found 11; `mdmhost plugin info powers` lists the options
}

// oneRow is a session of one row of two blanks, of which every step opens one.
type oneRow struct {
	sampling.Session
	admitted bool
	masked   int
}

func (s *oneRow) Admit(context.Context) ([]sampling.RowState, error) {
	if s.admitted {
		return nil, nil
	}
	s.admitted, s.masked = true, 2
	return []sampling.RowState{{Steps: 2, Blanks: 2, Masked: 2}}, nil
}

func (s *oneRow) Advance(_ context.Context, rows []sampling.Advance) ([]sampling.RowState, error) {
	s.masked--
	fmt.Printf("from %.1f to %.1f\n", rows[0].T, rows[0].S)
	return []sampling.RowState{{Steps: 2, Blanks: 2, Masked: s.masked, Done: s.masked == 0}}, nil
}

func (*oneRow) Emit(_ context.Context, slots []int) error {
	fmt.Println("done: slots", slots)
	return nil
}

// Drive takes rows in, has them stepped, and hands those that are done over, until there are none.
func ExampleDrive() {
	s, ctx := &oneRow{}, context.Background()
	err := sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
		return s.Advance(ctx, []sampling.Advance{sdk.ByMasks(active[0])})
	})
	fmt.Println(err)
	// Output:
	// from 1.0 to 0.5
	// from 0.5 to 0.0
	// done: slots [0]
	// <nil>
}

// Times that follow what is masked.
func ExampleByMasks() {
	a := sdk.ByMasks(sampling.RowState{Slot: 1, Blanks: 8, Masked: 2})
	fmt.Println(a.Slot, a.T, a.S, a.AlphaT, a.AlphaS)
	// Output: 1 0.25 0.125 0.75 0.875
}
