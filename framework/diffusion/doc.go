// Package diffusion holds the quantities of masked diffusion under the names of the papers: masking schedules and the
// weights of the bound, time grids, the forward process, finite-T and exact-count estimators (Shi et al. 2024, "Simplified
// and Generalized Masked Diffusion for Discrete Data", MD4), the planner-aware loss of PAPL, and the noise that training
// draws for them.
//
// It is plain float64 and imports nothing else of the project, so it is the oracle for what training does inside a graph.
//
// Sections of the sheets md4 and papl, which write both methods out, are cited where a formula stands.
//
// Conventions: time t runs from 0 (clean) to 1 (all masked), s < t; alpha_t is the probability that a token is still
// visible, u_t = 1 - alpha_t that it is masked; m counts the real tokens (no mask among them), N the tokens of a sequence,
// B the rows of a batch. Losses are negative bounds in nats per sequence, logarithms are natural.
package diffusion
