// Package sampling holds what a masked diffusion model does between two forward passes: the canvas, the per-position
// statistics, the decisions of planners and their validation, the random streams, the step loop and its trace.
//
// It is pure Go and knows neither ONNX Runtime nor gRPC. The parts that live elsewhere meet it through four interfaces:
// [Denoiser] (a runtime), [Planner], [Sampler] (plugins, or plain Go values in tests) and [Session] (what a sampler
// may ask of the host).
//
// Shapes in comments: B rows of a batch, L positions of the longest row, V tokens of the vocabulary, K candidates.
package sampling
