"""EB-Sampler (Ben-Hamu et al. 2025), as the first-party planner `eb`: in the order of an error proxy, the longest prefix whose
summed entropy less its largest entropy is at most gamma nats."""

from dataclasses import dataclass
from math import inf

import numpy as np

from mdmhost_plugin import Planner, PluginError, ascending, descending, option, serve


@dataclass
class Options:
    proxy: str = option("entropy", enum=["entropy", "confidence", "margin"], help="order of opening: smallest entropy, largest p1, or largest p1 - p2 first")
    gamma: float = option(0.1, min=0, help="entropy bound in nats; 0 opens one uncertain position a step, inf everything at once")
    stats_on: str = option("model", enum=["model", "sampling"], help="distribution of the entropies and of what the proxy orders by: before temperature, or the one that tokens are drawn from")
    confidence: str = option("max", enum=["max", "drawn"], help="what the proxy confidence orders by: p1, or the probability of the drawn token")
    min_per_step: int = option(1, min=1, help="positions opened a step whatever the bound says")
    max_per_step: int = option(0, min=0, help="positions opened a step at most; 0 = no limit")
    max_entropy: float = option(inf, min=0, help="positions of larger entropy, in nats, wait until nothing else is left and then open one by one; inf = off")


class EB(Planner):
    name, version, summary = "eb", "0.1.0", "opens as many positions at once as an entropy bound allows"
    needs, options = ["entropy", "p1", "p2", "logp_proposal"], Options
    adaptive = pure = True

    def start(self, run, o):
        self.o, self.most = o, o.max_per_step or inf
        if self.most < o.min_per_step:
            raise PluginError("INVALID_CONFIG", f"max_per_step {o.max_per_step}: expected at least min_per_step {o.min_per_step}",
                              "raise it, or set 0 for no limit")
        proxy = {"entropy": [], "margin": ["p1", "p2"], "confidence": ["logp_proposal" if o.confidence == "drawn" else "p1"]}
        return [f"{need}(on={o.stats_on})" for need in ["entropy", *proxy[o.proxy]]]

    def plan_row(self, row):
        o, eligible, limits = self.o, row.eligible, (self.o.gamma, self.o.min_per_step, self.most)
        if o.max_entropy < inf:
            calm = eligible[row.entropy[eligible].astype(float) <= o.max_entropy]
            eligible, limits = (calm, limits) if len(calm) else (eligible, (0, 1, 1))
        order = self.order(row, eligible)
        return row.open(order[: prefix(row.entropy[order], *limits)])

    def order(self, row, positions):
        if self.o.proxy == "entropy":
            return ascending(positions, row.entropy)
        if self.o.proxy == "margin":
            return descending(positions, row.p1 - row.p2)
        return descending(positions, row.logp_proposal if self.o.confidence == "drawn" else row.p1)


def prefix(entropy, gamma, least, most):
    """How many of the ordered positions open: the longest prefix with sum(h) - max(h) <= gamma (eq. 2 and Algorithm 1). The sum less
    its largest grows by min(h, largest before) with every position, which cancels nothing and never falls."""
    h = np.maximum(entropy.astype(float), 0)
    before = np.maximum.accumulate(np.concatenate([[0], h]))[:-1]
    beyond = np.flatnonzero(np.cumsum(np.minimum(h, before)) > gamma)
    fits = int(beyond[0]) if len(beyond) else len(h)
    return int(min(max(fits, least), most, len(h)))


if __name__ == "__main__":
    serve(EB)
