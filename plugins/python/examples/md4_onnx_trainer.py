"""MD4 with the linear schedule (Shi et al. 2024), its loss written with `onnx`. The same seed gives the same numbers as the first-party
trainer `md4`: inputs of the same names are filled with the same noise."""

from dataclasses import dataclass

import numpy as np

from mdmhost_plugin import Graphs, Schedule, option, serve, trainer
from onnx_loss import Graph


@dataclass
class Options:
    eps: float = option(1e-4, min=0, max=0.49, help="keeps the share of masks inside [eps, 1-eps], which bounds the weight at t = 0")


@trainer("md4-onnx", options=Options, version="0.1.0", summary="MD4 with the linear schedule, written with onnx")
def md4(task, o):
    inputs = {"tokens": task.tokens(), "free": task.free(), "u": task.uniform("u", "B", "L"), "time": task.time("shared_offset"),
              "rank": task.rank(), "time2": task.time("stratified", name="time2"), "attention_mask": task.attention_mask()}
    if not task.denoiser.takes("attention_mask"):
        del inputs["attention_mask"]
    return Graphs(training(task, inputs, o.eps), evaluation(task, inputs, o.eps), list(inputs.values()), summary=f"MD4 in onnx, eps {o.eps:g}",
                  schedule=Schedule("linear", eps=o.eps))


def training(task, inputs, eps):
    """Every free token is masked with the chance u(t); the masked cross-entropy is weighted with u'(t)/u(t) (MD4, equation 5)."""
    g = Graph("md4", task)
    tokens, free, noise, t = (g.input(inputs[name]) for name in ("tokens", "free", "u", "time"))
    slope = g.constant(1 - 2 * eps, np.float64)
    u = g.Add(g.Mul(g.double(t), slope), g.constant(eps, np.float64))  # [B, 1], in double precision, as the small ones are divided by
    weight = g.float(g.Div(slope, u))
    masked = g.And(free, g.Less(noise, g.float(u)))  # [B, L]
    ce = g.row_sum(lost(g, inputs, tokens, masked, t))  # [B], nats
    bound = g.Mul(g.Squeeze(weight, g.constant([1], np.int64)), ce)
    n = g.row_sum(g.float(free))
    g.output("loss", g.Div(g.total(bound), g.Max(g.total(n), 1)))
    g.metric("nll", bound, n)
    g.metric("ce", ce, g.row_sum(g.float(masked)))
    return g.model()


def evaluation(task, inputs, eps):
    """The bound of each row with an exact count of masks: k of the n free tokens, k uniform on 1..n, weighted with n/k."""
    g = Graph("md4 eval", task)
    tokens, free, rank, t = (g.input(inputs[name]) for name in ("tokens", "free", "rank", "time2"))
    one = g.constant([1], np.int64)
    n = g.row_sum(g.float(free))
    k = g.Sub(n, g.Min(g.Floor(g.Mul(g.Squeeze(t, one), n)), g.Max(g.Sub(n, 1), 0)))
    masked = g.Less(rank, g.Unsqueeze(g.Cast(k, to=7), one))  # a position that is not free has a rank above all k
    share = g.double(g.Unsqueeze(g.Div(k, g.Max(n, 1)), one))
    at = g.Div(g.Sub(share, g.constant(eps, np.float64)), g.constant(1 - 2 * eps, np.float64))  # the time at which so many are masked
    at = g.float(g.Min(g.Max(at, g.constant(0, np.float64)), g.constant(1, np.float64)))
    ce = g.row_sum(lost(g, inputs, tokens, masked, at))
    g.output("bound", g.Mul(g.Div(n, g.Max(k, 1)), ce), task.B)
    g.output("count", n, task.B)
    g.metric("ce", ce, k)
    return g.model()


def lost(g, inputs, tokens, masked, t):
    """The cross-entropy at masked positions, 0 elsewhere: [B, L]."""
    given = {"input_ids": g.Where(masked, g.constant(g.task.mask_id, np.int64), tokens)}
    if "attention_mask" in inputs:
        given["attention_mask"] = g.input(inputs["attention_mask"])
    if g.task.denoiser.takes("timesteps"):
        given["timesteps"] = g.Squeeze(t, g.constant([1], np.int64))
    return g.Where(masked, g.cross_entropy(g.possible(g.network("denoiser", **given)), tokens), 0)


if __name__ == "__main__":
    serve(md4)
