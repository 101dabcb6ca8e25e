"""Fast-dLLM's threshold (Wu et al. 2025), as the first-party planner `threshold`: every position of which the model is sure
enough opens, and the surest where there are too few of them."""

from dataclasses import dataclass

import numpy as np

from mdmhost_plugin import Planner, PluginError, largest, option, serve


@dataclass
class Options:
    threshold: float = option(0.9, min=0, help="confidence from which positions open; 0 opens everything at once")
    strict: bool = option(False, help="the confidence must exceed the threshold (SGLang, LLaDA2); else it may equal it (Fast-dLLM)")
    minimal_topk: int = option(1, min=1, help="where fewer positions are sure, so many of the surest open")
    fallback: str = option("minimal_topk", enum=["minimal_topk", "scheduled"], help="where fewer positions are sure: the minimal_topk surest, or as many as LLaDA's schedule opens in this step if those are more")
    max_per_step: int = option(0, min=0, help="positions opened a step at most, the surest; 0 = no limit")
    confidence: str = option("max", enum=["max", "drawn"], help="max: the largest probability; drawn: the probability of the drawn token")
    on: str = option("model", enum=["model", "tempered", "sampling"], help="distribution of the confidence: before temperature, after it, or the one that tokens are drawn from")


class Threshold(Planner):
    name, version, summary = "threshold", "0.1.0", "opens every position whose confidence reaches a threshold"
    needs, options = ["p1", "logp_proposal"], Options
    adaptive = pure = True

    def start(self, run, o):
        self.o = o
        if 0 < o.max_per_step < o.minimal_topk:
            raise PluginError("INVALID_CONFIG", f"max_per_step {o.max_per_step}: expected at least minimal_topk {o.minimal_topk}",
                              "raise it, or set 0 for no limit")
        return [f"{'logp_proposal' if o.confidence == 'drawn' else 'p1'}(on={o.on})"]

    def plan_row(self, row):
        o, eligible = self.o, row.eligible
        # In double precision: numpy would otherwise round the threshold to the statistics' single precision.
        score = np.exp(row.logp_proposal.astype(float)) if o.confidence == "drawn" else row.p1.astype(float)
        least = o.minimal_topk
        if o.fallback == "scheduled":
            least = max(least, llada(row.blanks, row.step, row.steps))
        sure = eligible[score[eligible] > o.threshold if o.strict else score[eligible] >= o.threshold]
        if len(sure) < least:
            sure = largest(eligible, score, least)
        if 0 < o.max_per_step < len(sure):
            sure = largest(sure, score, o.max_per_step)
        return row.open(sure)


def llada(blanks, step, steps):
    """How many of the blanks LLaDA's schedule opens in a step: blanks/steps, one more in the first steps."""
    return max(blanks // steps + (step < blanks % steps), 0) if step < steps else 0


if __name__ == "__main__":
    serve(Threshold)
