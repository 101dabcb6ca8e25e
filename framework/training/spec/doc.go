// Package spec is the vocabulary in which a trainer and its host speak: "a trainer is a graph".
//
// The host gives a [Task]: the options, the vocabulary, the denoiser's signature. The trainer answers with a [Reply]: a
// [Spec], which says what the graphs need, and two ONNX graphs. Networks are calls (mdm.Network), whose inside the host
// fills in; the loss is not differentiated yet.
//
// # The training graph
//
// Its inputs are those of [Spec].Inputs and [Spec].Params, by name. Its outputs are
//
//	loss              float32 []            what is minimised; the only output that is differentiated
//	metric.NAME.sum   float32 [B] or []     a metric's numerator, per row or of the batch
//	metric.NAME.count float32 the same      its denominator: the host reports sum(sum) / sum(count)
//
// Batches are split for gradient accumulation, and the parts' losses averaged: a loss that is a mean over rows is then exact.
//
// # The evaluation graph
//
//	bound             float32 [B]           -log p of the row in nats, of the kind of [Spec].Bound
//	count             float32 [B]           how many tokens the bound is of: those that are free
//	metric.*                                as above
//
// Both graphs keep the batch B and the length L symbolic, unless the task fixes them.
//
// The package is plain data and its check: it runs nothing and opens nothing.
package spec
