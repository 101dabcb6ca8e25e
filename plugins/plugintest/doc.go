// Package plugintest finds out whether a plugin keeps the contract of protocol version 1, and says what to mend where it does not.
//
// An author's test is one line; each check is a subtest, errors fail, warnings and notes are logged:
//
//	func TestConformance(t *testing.T) { plugintest.Run(t, func() sampling.Planner { return New() }) }
//
// [RunSampler] and [RunTrainer] are the same for other kinds, [RunBinary] is for a built plugin in any language, and `mdmhost plugin
// check` prints the report of [Check]. The rules stand in one table ([Rules]).
//
// Nothing needs a model. Steps come from the host's own loop over rows of a small vocabulary, whose logits are noise keyed by the
// seed and whose statistics the loop's own code computes, so that probabilities, entropies and candidates agree with each other.
// Every finding names the row and step that shows it; the report's seed brings it back.
package plugintest
