"""A peer's side of the conversation with the benchmark: requests and answers, one JSON object a line.

{"what": "loop"|"bare"|"spinning", "b": 8, "l": 256, "threads": 1, "steps": 4}  ->  {"ms": 31.2}   milliseconds per forward pass
"""
import json
import sys
import time

import numpy as np

BOS, EOS, MASK = 12, 13, 14  # of rxnfp-bert


def canvas(b, l):  # [B, L] everything masked but the special tokens
    x = np.full((b, l), MASK, dtype=np.int64)
    x[:, 0], x[:, -1] = BOS, EOS
    return x


def counts(n, steps):  # LLaDA's uniform transfer counts
    return [n // steps + (i < n % steps) for i in range(steps)]


def serve(peer):
    """peer.use(threads, spinning) sets the threads, peer.bare(x) runs a forward pass, peer.step(x, k) runs one with
    statistics at the masked positions and opens the k of each row with the largest top probability. "spinning" is the
    loop with threads that wait as ONNX Runtime has it by default, actively."""
    print(json.dumps({"peer": peer.name}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        peer.use(ask["threads"], ask["what"] == "spinning")
        x = canvas(ask["b"], ask["l"])
        start = time.perf_counter()
        for k in counts(ask["l"] - 2, ask["steps"]):
            if ask["what"] == "bare":
                peer.bare(x)
            else:
                peer.step(x, k)
        ms = (time.perf_counter() - start) * 1e3 / ask["steps"]
        assert ask["what"] == "bare" or (x != MASK).all()
        print(json.dumps({"ms": ms}), flush=True)
