"""Random numbers that do not depend on batches, devices or the order of work, and the draw of tokens.

Philox4x32-10 (Salmon et al. 2011) turns a counter into random bits: every number is a function of the seed, the row, the step, the
position and the purpose alone. mdmhost keys its noise in the same way, so the same seed gives the same rows.
"""
import numpy as np

DRAW, UNIFORM, GUMBEL, TOKEN, GAP = range(5)  # purposes: a proposal's uniform, a decision's, ..., a gap's
LOW = 0xFFFFFFFF


def philox(counter, key):
    """Four arrays of 32 random bits, held in uint64, of four arrays of counters under a key of two numbers."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        x, y = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (y >> np.uint64(32)) ^ b ^ np.uint64(k), y & np.uint64(LOW), (x >> np.uint64(32)) ^ d ^ np.uint64(l), x & np.uint64(LOW)
        k, l = (k + 0x9E3779B9) & LOW, (l + 0xBB67AE85) & LOW
    return a, b, c, d


def uniforms(seed, row, step, n, purpose):
    """float64 [n], strictly inside (0, 1), one for each position from 0."""
    rest = [np.full(n, x & LOW, np.uint64) for x in (step, row, (row >> 32) << 8 | purpose)]
    a, b, _, _ = philox((np.arange(n, dtype=np.uint64), *rest), (seed & LOW, seed >> 32 & LOW))
    bits = (a << np.uint64(32) | b) >> np.uint64(11)
    return np.maximum(bits, np.uint64(1)).astype(np.float64) * 2.0**-53


def draw(z, uniform, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, top_p_rule="cross"):
    """Tokens [n] of softmax(z / temperature) after truncation, by the inverse of the distribution function; z is float64 [n, V].

    At temperature 0 it is the first of the largest. With top_p_rule cross the token that crosses top_p stays, with below it goes."""
    if temperature == 0:
        return z.argmax(-1)
    temperature, top_p, min_p = (float(np.float32(x)) for x in (temperature, top_p, min_p))  # settings have single precision
    d = (z - z.max(-1, keepdims=True)) / temperature
    w = np.exp(d)
    if 0 < top_k < z.shape[-1] or top_p < 1:
        order = np.argsort(-z, axis=-1, kind="stable")
        ranked = np.take_along_axis(w, order, -1)
        if 0 < top_k < z.shape[-1]:
            kth = np.take_along_axis(z, order[:, top_k - 1 : top_k], -1)
            ranked = np.where(np.take_along_axis(z, order, -1) >= kth, ranked, 0)
        if top_p < 1:
            mass = np.cumsum(ranked, -1)
            before = np.concatenate([np.zeros_like(mass[:, :1]), mass[:, :-1]], -1)
            keep = (mass if top_p_rule == "below" else before) <= top_p * mass[:, -1:]
            keep[:, 0] = True
            ranked = np.where(keep, ranked, 0)
        np.put_along_axis(w, order, ranked, -1)
    if min_p > 0:
        w = np.where(d >= np.log(min_p), w, 0)
    mass = np.cumsum(w, -1)
    above = mass > uniform[:, None] * mass[:, -1:]
    last = w.shape[-1] - 1 - (w > 0)[:, ::-1].argmax(-1)  # where rounding ate the gap below 1
    return np.where(above.any(-1), above.argmax(-1), last)
