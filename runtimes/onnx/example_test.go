package onnx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// The most probable atom for one blank of a molecule.
func Example() {
	ctx := context.Background()
	d, err := onnx.Open(ctx, onnx.Model{Path: "../../../shared/models/rxnfp-bert/onnx/model.onnx", MaskID: 14}, onnx.Options{Threads: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Configure(ctx, sampling.Head{Needs: sampling.Needs{P1: true}, Suppress: []int32{14}}); err != nil {
		log.Fatal(err)
	}
	row := []int64{12, 16, 16, 14, 13} // [CLS] C C [MASK] [SEP]
	batch, err := d.Batch(1, len(row))
	if err != nil {
		log.Fatal(err)
	}
	copy(batch.Tokens, row)
	for i := range row {
		batch.Attention[i] = 1
	}
	batch.Active[3] = 1
	statistics, err := d.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("token %d, p %.2f\n", statistics.Proposal[3], statistics.P1[3])
	// Output: token 23, p 0.50
}
