"""The statistics that a plugin asks for, as the texts that `mdmhost plugin info` prints.

| text | what comes |
|---|---|
| proposal | the host's draw at every free position |
| logp_proposal, logp_proposal(on=tempered), (on=sampling), (on=noised) | its log-probability under that distribution |
| p1, p2, p1(on=tempered), p1(on=sampling) | the two largest probabilities, both of one distribution |
| entropy, entropy(on=sampling) | entropy in nats |
| logp_current, kl_prev, planner_score, uniform, gumbel | one number per position |
| topk(4) | the 4 most probable tokens: top_ids and top_logp |
| vocab_dot(2) | sum_v p_v c_v for 2 vectors c; `vocab_dot(c)` with an array gives the vectors |
| insertion_rate, unmask_rate, frozen_gap | insertion models |
| logp_leave_one_out | log-probability of a written token where the position cannot see it |
| logits | the whole row of logits |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Iterable

import numpy as np

from .errors import INTERNAL, PluginError

ON = ("", "model", "sampling", "tempered", "noised")
FLAGS = ("proposal", "p1", "p2", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel", "insertion_rate", "unmask_rate",
         "frozen_gap", "logp_leave_one_out", "logits")
_ALLOWED_ON = {"logp_proposal": (1, 2, 3, 4), "entropy": (1, 2), "p1": (1, 2, 3), "p2": (1, 2, 3)}
_TEXT = re.compile(r"([a-z0-9_]+)(?:\((?:on=([a-z]+)|(\d+))\))?")


@dataclass(frozen=True)
class Needs:
    """A set of statistics; the names are those of the protocol."""

    proposal: bool = False
    logp_proposal: int = 0  # index into ON
    p1: bool = False
    p2: bool = False
    peaks_on: int = 0
    entropy: int = 0
    logp_current: bool = False
    kl_prev: bool = False
    planner_score: bool = False
    uniform: bool = False
    gumbel: bool = False
    topk: int = 0
    vocab_dot: tuple[bytes, ...] = ()  # float32 [V] each
    insertion_rate: bool = False
    unmask_rate: bool = False
    frozen_gap: bool = False
    logp_leave_one_out: bool = False
    logits: bool = False

    def list(self) -> list[str]:
        """The texts of what is asked for, such as "entropy(on=model)"."""
        out: list[str] = []

        def add(is_needed: Any, text: str) -> None:
            if is_needed:
                out.append(text)

        peaks = f"(on={ON[self.peaks_on]})" if self.peaks_on > 1 else ""
        add(self.proposal, "proposal")
        add(self.logp_proposal, f"logp_proposal(on={ON[self.logp_proposal]})")
        add(self.p1, "p1" + peaks)
        add(self.p2, "p2" + peaks)
        add(self.entropy, f"entropy(on={ON[self.entropy]})")
        for name in FLAGS[3:8]:
            add(getattr(self, name), name)
        add(self.topk, f"topk({self.topk})")
        add(self.vocab_dot, f"vocab_dot({len(self.vocab_dot)})")
        for name in FLAGS[8:]:
            add(getattr(self, name), name)
        return out

    def within(self, declared: "Needs") -> None:
        """Raises PluginError if these needs ask for more than the declared ones. Which distribution a statistic is of, and what vectors
        vocab_dot has, may depend on the options."""
        like = replace(
            self, peaks_on=declared.peaks_on, vocab_dot=(),
            logp_proposal=declared.logp_proposal if self.logp_proposal and declared.logp_proposal else self.logp_proposal,
            entropy=declared.entropy if self.entropy and declared.entropy else self.entropy,
            topk=declared.topk if 0 < self.topk <= declared.topk else self.topk,
        )
        known = declared.list()
        for text in like.list():
            if text not in known:
                raise PluginError(INTERNAL, f"the run's needs ask for {text}, which the plugin's needs do not declare", "declare the largest set that any options ask for")

    def proto(self, pb: Any) -> Any:
        """The message; pb is the module of the protocol's messages."""
        return pb.Needs(**{name: getattr(self, name) for name in self.__dataclass_fields__})


@dataclass(frozen=True)
class VocabDot:
    """The need of sum_v p_v c_v; made by vocab_dot."""

    vectors: tuple[bytes, ...]


def vocab_dot(vectors: Any) -> VocabDot:
    """The need of sum_v p_v c_v for a vector c of V numbers, or for each row of an array [c, V]."""
    array = np.atleast_2d(np.asarray(vectors, dtype="<f4"))
    if array.ndim != 2:
        raise ValueError(f"vocab_dot: expected an array [V] or [c, V], found {array.ndim} axes")
    return VocabDot(tuple(row.tobytes() for row in array))


def parse_needs(texts: Iterable[str | VocabDot] | Needs) -> Needs:
    """Reads texts such as "entropy(on=sampling)" and "topk(4)". Raises ValueError, which says what there is."""
    if isinstance(texts, Needs):
        return texts
    if isinstance(texts, str):
        texts = [texts]
    out: dict[str, Any] = {}
    for text in texts:
        if isinstance(text, VocabDot):
            out["vocab_dot"] = out.get("vocab_dot", ()) + text.vectors
            continue
        match = _TEXT.fullmatch(text.replace(" ", ""))
        name, on, count = match.groups() if match else ("", None, None)
        if name in ("topk", "vocab_dot"):
            if count is None or int(count) < 1:
                raise ValueError(f"need {text!r}: expected a number, as in {name}(4)")
            out[name] = max(int(count), out.get("topk", 0)) if name == "topk" else out.get(name, ()) + (b"",) * int(count)
        elif name in _ALLOWED_ON:
            _add_on(out, text, name, on)
        elif name in FLAGS and on is None and count is None:
            out[name] = True
        else:
            raise ValueError(f"need {text!r}: unknown; expected one of {', '.join(sorted({*FLAGS, *_ALLOWED_ON}))}, topk(K), vocab_dot(C), some with (on=...)")
    return Needs(**out)


def _add_on(out: dict[str, Any], text: str, name: str, on: str | None) -> None:
    """Adds a statistic that is of a distribution."""
    which = 1 if on is None else ON.index(on) if on in ON else 0
    if which not in _ALLOWED_ON[name]:
        raise ValueError(f"need {text!r}: expected {' or '.join(f'on={ON[i]}' for i in _ALLOWED_ON[name])}")
    if name in ("p1", "p2"):
        key, out[name] = "peaks_on", True
    else:
        key = name
    if on is None:  # of the model, or of the distribution that another text names
        if key != "peaks_on":
            out.setdefault(key, which)
    elif out.get(key, which) != which:
        raise ValueError(f"need {text!r}: one plugin gets one distribution, and another need asks for on={ON[out[key]]}")
    else:
        out[key] = which
