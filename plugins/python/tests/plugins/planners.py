"""Plugins for tests of the host's side: planners.py NAME serves one of them."""

import ctypes
import logging
import os
import sys
import threading
import time
import zlib
from dataclasses import dataclass

import numpy as np

from mdmhost_plugin import Planner, PluginError, RowMemory, drive, option, planner, sampler, serve, smallest, vocab_dot

EVERYTHING = ["proposal", "logp_proposal", "p1", "p2", "entropy", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel", "topk(2)",
              "vocab_dot(2)", "logits"]


@dataclass
class Options:
    k: int = option(1, min=1, help="positions opened in a step")
    gamma: float = option(float("inf"), min=0)


@planner("calm", needs=["entropy"], options=Options, version="1.2.3", summary="opens what is calm", pure=True)
def calm(row, o):
    return row.open(smallest(row.eligible, row.entropy, o.k)).metric("sum", row.entropy[0])


class Mirror(Planner):
    """Decisions hold a checksum of everything that came, and exercise every verb."""

    name, needs = "mirror", EVERYTHING

    def start(self, run, options):
        return [*(n for n in EVERYTHING if n != "vocab_dot(2)"), vocab_dot([[1, 2], [3, 4]])]

    def plan_row(self, row):
        d = row.open(row.eligible).remask(row.written).delete(row.masked).act_as(row.step).next_t(row.t)
        for name in ("token", "flags", "proposal", "logp_proposal", "p1", "p2", "entropy", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel",
                     "top_ids", "top_logp", "vocab_dot", "logits"):
            d.metric(name, zlib.crc32(np.ascontiguousarray(getattr(row, name))))
        for name in ("index", "slot", "offset", "blanks", "step", "steps", "t", "s", "alpha_t", "alpha_s", "k", "v"):
            d.metric(name, getattr(row, name))
        if row.n:
            d.overwrite(row.n - 1, row.token[0]).insert(row.n, row.step)
        return d.fill(["none", "argmax", "draw"][row.step % 3])


class Batch(Planner):
    """Opens the calmest positions of all rows at once."""

    name, needs, options = "batch", ["entropy"], Options

    def start(self, run, o):
        self.k = o.k

    def plan(self, step):
        chosen = step.smallest(step.eligible, step.entropy, self.k)
        return step.open(chosen).metric("sum", step.entropy[step.start[:-1]])


class Counts(Planner):
    name = "counts"

    def start(self, run, options):
        self.calls = RowMemory(lambda: [0])

    def plan_row(self, row):
        self.calls.of(row)[0] += 1
        return row.nothing().metric("calls", self.calls.of(row)[0])


def faulty(act, **said):
    @planner("faulty", **said)
    def f(row):
        act(row)
        return row.open(row.eligible[:1])

    return f


def prints(row):
    print("hello from the author")
    os.write(1, b"x" * (1 << 18) + b"\n1|3|unix|/nowhere|grpc\n")
    ctypes.CDLL(None).puts(b"hello from C")


def raises(row):
    raise KeyError(f"row {row.index} is odd")


def interrupts(row):
    raise KeyboardInterrupt


def segfaults(row):
    ctypes.string_at(0)


def refuses(row):
    raise PluginError("EXHAUSTED", "no more quota", "ask for more")


def logs(row):
    logging.getLogger("author").warning("row %d\nis odd", row.index, extra={"entropy": 0.5})
    os._exit(1)


def dies_once(row):
    try:
        os.close(os.open(os.environ["DEATH_NOTE"], os.O_CREAT | os.O_EXCL))
        os._exit(7)
    except FileExistsError:
        pass


def returns(value):
    @planner("faulty")
    def f(row):
        return value(row)

    return f


def exits(row):
    sys.exit("out of cheese")


def background(row):
    threading.Thread(target=lambda: 1 // 0).start()
    threading.Thread(target=lambda: time.sleep(3600), daemon=False).start()  # Python would wait for it; those of gRPC's threads are daemons


@sampler("masked", needs=["p1"])
def masked(session, run, o):
    """Denoises, opens the first masked position of every row by its own decision, and steps once by the planner's."""
    from mdmhost_plugin import Advance

    rows = session.admit()
    if not rows:
        return
    advance = [Advance(r.slot, 1, 0.5, 0, 0.5) for r in rows]
    step = session.denoise(advance)
    own = [row.open(1).next_t(row.p1[0]) for row in step]
    own[0].remask(session.plan()[0].as_dict()["open"])
    session.apply(own)
    session.advance(advance)
    session.emit([r.slot for r in rows])


@sampler("driven")
def driven(session, run, o):
    from mdmhost_plugin import by_masks

    drive(session, lambda active: session.advance([by_masks(r) for r in active]))


@sampler("sampler-hangs")
def sampler_hangs(session, run, o):
    time.sleep(3600)


PLUGINS = {
    "calm": calm, "mirror": Mirror, "batch": Batch, "counts": Counts, "masked": masked, "driven": driven, "sampler-hangs": sampler_hangs,
    "prints": faulty(prints), "raises": faulty(raises), "interrupts": faulty(interrupts), "refuses": faulty(refuses), "logs": faulty(logs), "dies-once": faulty(dies_once, pure=True),
    "exits": faulty(exits), "segfaults": faulty(segfaults), "hangs": faulty(lambda row: time.sleep(3600)),
    "background": faulty(background), "undeclared": faulty(lambda row: row.p1), "memory": faulty(lambda row: (_ for _ in ()).throw(MemoryError())),
    "none": returns(lambda row: None), "beyond": returns(lambda row: row.open([row.n])), "mask": returns(lambda row: row.open(row.flags > 0)),
    "nan": returns(lambda row: row.nothing().metric("gain", float("nan"))), "floats": returns(lambda row: row.open([0.5])),
}

if __name__ == "__main__":
    name = sys.argv.pop(1)
    if name == "greets":
        print("Welcome to my planner!")
        name = "calm"
    if name == "quits":
        raise RuntimeError("no licence found")
    serve(PLUGINS[name])
