// Package sampling holds what a masked diffusion model does between two forward passes: the canvas, the per-position
// statistics, the decisions of planners and their validation, the random streams, the step loop and its trace.
//
// It is pure Go and knows neither ONNX Runtime nor gRPC. The parts that live elsewhere meet it through six interfaces:
// [Denoiser] (a runtime), [Scorer] (a planner's own network), [Planner], [Sampler] (plugins, or plain Go values in tests),
// [Session] (what a sampler may ask of the host) and [Observer] (screens and traces).
//
// [Loop] is the heart. Around its steps lie blocks, stop rules, guidance, tokens that are held back, steps that need no
// pass of their own and trials, a file each; compute*.go is the statistics head in plain Go.
//
// Shapes in comments: B rows of a batch, L positions of the longest row, V tokens of the vocabulary, K candidates.
package sampling
