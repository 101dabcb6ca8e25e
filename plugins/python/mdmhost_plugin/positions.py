"""Choosing positions by score. Equal scores go to the lower position, so that a run is the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import violation

Positions = np.ndarray  # int32 [m]


def smallest(positions: Any, score: Any, k: int) -> Positions:
    """The k positions of smallest score, smallest first; all where there are fewer. score is indexed by position, like a row's columns.
    A score that is missing or NaN is an error."""
    at, keys = _ranked(positions, score)
    return at[_order(at, keys)[: max(0, int(k))]]


def largest(positions: Any, score: Any, k: int) -> Positions:
    """The k positions of largest score, largest first, with the ties and errors of smallest."""
    at, keys = _ranked(positions, score)
    return at[_order(at, -keys)[: max(0, int(k))]]


def ascending(positions: Any, score: Any) -> Positions:
    """All positions, smallest score first."""
    at, keys = _ranked(positions, score)
    return at[_order(at, keys)]


def descending(positions: Any, score: Any) -> Positions:
    """All positions, largest score first; equal scores go to the lower position."""
    at, keys = _ranked(positions, score)
    return at[_order(at, -keys)]


def _order(at: np.ndarray, keys: np.ndarray) -> np.ndarray:
    if _ascends(at):
        return keys.argsort(kind="stable")
    return np.lexsort((at, keys))


def _ascends(at: np.ndarray) -> bool:
    """Tells whether each position is above the one before, as in the lists of rows."""
    return bool((at[1:] > at[:-1]).all())


def _ranked(positions: Any, score: Any) -> tuple[np.ndarray, np.ndarray]:
    """The positions, int32 [m], and their scores, floating point [m]."""
    at = np.asarray(positions)
    if at.ndim != 1 or at.dtype.kind not in "iu" and at.size:
        raise violation(f"positions: expected a list of whole numbers, found {at.dtype} {list(at.shape)}; np.flatnonzero makes one of a condition")
    at = at.astype(np.int32, copy=False)
    score = np.asarray(score)
    if score.ndim != 1:
        raise violation(f"score: expected one number per position, found an array {list(score.shape)}")
    if at.size:
        low, high = (at[0], at[-1]) if _ascends(at) else (at.min(), at.max())
        if low < 0 or high >= len(score):
            missing = low if low < 0 else high
            raise violation(f"the scores have {len(score)} entries and none for position {missing}; a score is indexed by position")
    keys = score[at]
    if keys.dtype.kind != "f":
        keys = keys.astype(np.float64)
    nan = np.isnan(keys)
    if nan.any():
        raise violation(f"the score of position {at[nan][0]} is NaN; scores must be numbers")
    return at, keys
