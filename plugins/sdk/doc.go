// Package sdk is the authors' kit of mdmhost plugins in Go.
//
// mdmhost runs masked diffusion models: rows of tokens that begin as masks and are written step by step. A plugin is a program of its
// own, which the host starts, asks and ends. It is a planner, a sampler or a trainer. `mdmhost plugin new NAME` writes a project to
// begin with.
//
// # Planners
//
// A planner decides which positions of a row a step opens, and which it masks again. It is a function from one row's statistics to a
// decision. The whole program, for a planner without options:
//
//	func main() {
//		sdk.ServePlannerFunc("calm", func(r sdk.Row) sdk.Decision {
//			return r.Open(r.Eligible().SmallestBy(r.Entropy, 2))
//		}, sdk.Needs(sdk.Entropy))
//	}
//
// and for one with options:
//
//	type Options struct {
//		K int `option:"k" default:"2" min:"1" help:"positions opened in a step"`
//	}
//
//	func main() {
//		sdk.ServePlanner("calm", func(o Options) sdk.PlanRow {
//			return func(r sdk.Row) sdk.Decision {
//				return r.Open(r.Eligible().SmallestBy(r.Entropy, o.K))
//			}
//		}, sdk.Needs(sdk.Entropy))
//	}
//
// [Row] says what there is: positions (Eligible, Masked, Written), statistics by position (Row.Entropy), and where the row stands
// (Row.Step, Row.T). [Positions] are chosen by verbs: SmallestBy, LargestBy, Where, First, DrawBy. [Decision] is put together of verbs:
// Open, Remask, Overwrite, Fill, Done and others. How many positions a step must open, so that all are open at the last one, says package
// count, whose New makes a whole planner out of an order.
//
// [NewPlanner] makes the same planner as a value that runs in process; [Serve] serves such a value. [NewRunPlanner] is for planners that
// read the run (temperature, vocabulary) or refuse it.
//
// # Samplers
//
// A sampler owns the trajectory: which rows step when, at which times, with how many forward passes. [NewSampler] makes one of a
// function that drives a session, [ServeSampler] serves it. [Drive] is the life of rows that step together, [ByMasks] are times that
// follow what is masked. What a session returns is valid until its next call.
//
// # Trainers
//
// A trainer is a graph: it writes the loss as ONNX once and costs nothing per step. [ServeTrainer] serves a loss, [ServeTrainerWith] one
// with options; package trainer has the inputs, networks and losses that graphs are made of.
//
// # Options
//
// Options are a plain struct whose tags say name, default, bounds and help; see package options. The host and the kit refuse what does not
// fit, all at once. Users set them as --set planner.k=4. A plugin without options takes struct{}.
//
// # Needs
//
// The host computes what somebody needs and nothing else: [Needs] declares it, [NeedsFor] narrows it to what the options at hand read. A
// statistic that was not asked for is nil, and ranking by it ends the run with an error that says so. Package catalog lists all of them
// with shapes and units. Three are special:
//
//   - [PlannerScore] is the score of a network of the planner's own, which the host runs on the row with its proposals filled in. The user
//     names it by --set planner.network=DIR; without one the run is refused.
//   - [Logits] are all logits of the row, [n, V], in memory that host and plugin share (Row.LogitsAt). Ask for them where no other
//     statistic will do: they are read where they lie, and must not be changed.
//   - [VocabDot] is for numbers that depend on the whole distribution and one vector, such as the probability of a class of tokens.
//
// # Memory
//
// What a planner keeps from step to step lives in a [RowMemory], made in the build function, and so does a run's own state in that
// function's closure. Slots are reused by other rows; RowMemory knows. A planner without memory is declared [Pure]: when its process dies
// the host starts it anew and asks again, instead of ending the run.
//
// # Randomness
//
// All noise comes from the host, by the run's seed, the row, the step and the position: ask for [Uniform] or [Gumbel]. Then the same seed
// gives the same rows, whatever the batch. DrawBy draws positions without replacement; [GumbelOf] turns uniform numbers into Gumbel noise.
// A generator of the plugin's own, seeded by a uniform number of the row, is as good; one seeded by the clock is not.
//
// # Errors
//
// Return an error from the build function to refuse options or a run, call Row.Fail to end the run with a row's problem: the user reads
// it with the plugin's name. A panic ends the run as well, with its stack in the log, and leaves the process alive.
// Errors of type [sampling.Error] keep their code.
//
// # Logs
//
// Log with the standard library: slog.Info("slow", "row", r.Index) reaches the host's log with level and attributes, once the plugin
// serves. So does what is printed. Users see it with --set plugins.log=debug, or MDMHOST_LOG=debug. Numbers that belong to a step are
// better told as Decision.Metric, which goes into traces.
//
// # Testing
//
// [NewRow] makes a row of plain slices, so that the function is tested alone. Package plugintest checks what every plugin must do, without
// a model:
//
//	func TestContract(t *testing.T) {
//		plugintest.Run(t, func() sampling.Planner { return sdk.NewPlanner("calm", Plan, sdk.Needs(sdk.Entropy)) })
//	}
//
// `mdmhost plugin check ./calm` does the same with the program.
//
// # Running by hand
//
// Started without the host, a plugin explains itself: what it is, how it is run, its options and needs. The argument describe prints
// that as JSON. With --debug it serves until Ctrl-C, for a debugger, and prints a line MDMHOST_REATTACH='...': set that variable where
// mdmhost is started, name the plugin by its own name (--planner calm), and breakpoints hold as long as they like.
//
// # Versions
//
// The protocol is version 1, which is only added to: a plugin that was built once keeps running. [Version] is the plugin's own.
package sdk
