"""Rows and steps for the tests of a planner, and the way that the host goes through it.

    from mdmhost_plugin.testing import plan, row

    def test_opens_the_calmest():
        (decision,) = plan(calm, row(entropy=[0.4, 0.0, 0.1], fixed=[1]), options={"k": 1})
        assert decision.as_dict()["open"] == [2]
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

import numpy as np

from .calls import encode
from .columns import COLUMNS
from .decisions import Decision
from .definition import fresh
from .needs import Needs
from .planner import Planner
from .rows import ELIGIBLE, FIXED, MASKED, Row
from .run import Run
from .step import LATER, LISTS, Step
from .v1 import plugin_pb2 as pb

_NEEDS: dict[str, dict[str, Any]] = {"top_ids": {"topk": 1}, "top_logp": {"topk": 1}, "vocab_dot": {"vocab_dot": (b"",)}, "logp_proposal": {"logp_proposal": 1}, "entropy": {"entropy": 1},
          "gap_uniform": {"insertion_rate": True, "uniform": True}, "token": {}}


def row(*, n: int | None = None, written: Sequence[int] = (), fixed: Sequence[int] = (), waiting: Sequence[int] = (), **values: Any) -> Row:
    """A row whose positions are all masked and eligible, but for those that are written, fixed, or masked and waiting (not eligible).

    values are columns and numbers under the names of Row: row(entropy=[0.1, 0.4], step=3). Columns that are not given are not there,
    except tokens and flags. logits [n, V] are copied.
    """
    return step(dict(n=n, written=written, fixed=fixed, waiting=waiting, **values))[0]


def step(*rows: Mapping[str, Any] | Row) -> Step:
    """A step of rows, each given as the arguments of `row` or as a row. All have the same columns."""
    given = [r.__dict__["given"] if isinstance(r, Row) else dict(r) for r in rows]
    m, needs = pb.Step(run="test"), dict[str, Any]()
    for name in (name for name in COLUMNS if any(name in g for g in given) and name not in ("flags", "token")):
        needs.update(_NEEDS.get(name, {name: True}))
    logits: list[bytes] = []
    for i, g in enumerate(given):
        g = {**g}
        flags = _flags(g)
        n = len(flags)
        m.n.append(n)
        m.flags += flags.tobytes()
        m.token += np.asarray(g.pop("token", np.zeros(n)), "<i4").tobytes()
        if "logits" in g:
            array = np.asarray(g.pop("logits"), "<f4")
            needs["logits"], m.logits.v = True, array.shape[1]
            logits.append(array.tobytes())
        for name in LISTS + LATER:
            default = {"index": i, "slot": i, "blanks": n, "steps": n, "length": n, "t": 1.0, "s": 1.0}.get(name, 0)
            getattr(m, name).append(g.pop(name, default))
        for name, values in g.items():
            _add(m, name, np.asarray(values, COLUMNS[name].dtype), n)
    if logits:
        m.logits.bytes = b"".join(logits)
    out = Step(m, Needs(**needs))
    for r, g in zip(out.rows, given):
        r.__dict__["given"] = g
    return out


def _flags(g: dict[str, Any]) -> np.ndarray:
    """The flags of a row; takes what says them out of the row's values."""
    n, written, fixed, waiting = g.pop("n", None), g.pop("written", ()), g.pop("fixed", ()), g.pop("waiting", ())
    if "flags" in g:
        return np.asarray(g.pop("flags"), "u1")
    if n is None:
        lengths = {len(v) for name, v in g.items() if name in COLUMNS and COLUMNS[name].per in ("n", "n,k")}
        if len(lengths) != 1:
            raise ValueError(f"the columns have lengths {sorted(lengths)}, expected one; or give n")
        (n,) = lengths
    flags = np.full(n, MASKED | ELIGIBLE, "u1")
    flags[list(waiting)] = MASKED
    flags[list(written)] = 0
    flags[list(fixed)] = FIXED
    return flags


def _add(m: Any, name: str, values: np.ndarray, n: int) -> None:
    if name in ("top_ids", "top_logp"):
        m.k = values.shape[1]
    if name == "vocab_dot":
        m.c = values.shape[0]
    if values.shape != COLUMNS[name].shape(n, m.k, m.c):
        raise ValueError(f"{name} has the shape {list(values.shape)}, expected {list(COLUMNS[name].shape(n, m.k, m.c))}")
    setattr(m, name, getattr(m, name) + values.tobytes())


def plan(planner: Planner | type[Planner], *rows: Row, options: Mapping[str, Any] | None = None, run: Run | None = None) -> list[Decision]:
    """Starts a run of the planner with the given options, asks it about a step of the rows, and checks the answer as the kit does before it
    is sent. Columns that the planner did not ask for raise."""
    planner = fresh(planner)()  # type: ignore[assignment]
    assert isinstance(planner, Planner)
    planner.check()
    needs = planner.narrowed(planner.start(run or Run(), planner.parse_options(json.dumps(dict(options or {})))))
    batch = step(*rows)
    given, batch.needs = batch.needs, needs
    for name in batch.scalars and list(batch._columns):
        if not COLUMNS[name].needed(needs):
            del batch._columns[name]
    for column in COLUMNS.values():
        if column.needed(needs) and not column.needed(given) and column.need and batch.positions:
            raise ValueError(f"the planner needs {column.need}; give the rows {column.name}=...")
    decisions = list(planner.plan(batch))
    encode(decisions, batch, pb.PlanReply())
    return decisions
