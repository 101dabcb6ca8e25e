"""Peer: a sampling loop on ONNX Runtime from Python, statistics in numpy. Usage: ort_loop.py MODEL.onnx"""
import sys

import numpy as np
import onnxruntime as ort
from serve import MASK, serve


def session(path, threads, spinning):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if not spinning:  # as mdmhost has it
        options.add_session_config_entry("session.intra_op.spin_duration_us", "50")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Loop:
    name = f"onnxruntime {ort.__version__}, numpy {np.__version__}"

    def __init__(self, path):
        self.path, self.sessions = path, {}

    def use(self, *threads):
        if threads not in self.sessions:
            self.sessions[threads] = session(self.path, *threads)
        self.session = self.sessions[threads]

    def bare(self, x):  # [B, L] -> [B, L, V]
        return self.session.run(["logits"], {"input_ids": x, "attention_mask": np.ones_like(x)})[0]

    def step(self, x, k):
        logits = self.bare(x)
        rows, at = np.nonzero(x == MASK)
        z = logits[rows, at]  # [N, V], float32
        z[:, MASK] = -np.inf
        n = np.arange(len(z))
        best = z.argmax(1)
        top = z[n, best]
        z -= top[:, None]
        z[n, best] = -np.inf
        second = z.max(1)
        z[n, best] = 0
        p = np.exp(z)
        total = p.sum(1)
        log_total = np.log(total)
        p1, p2 = 1 / total, np.exp(second) / total  # noqa: F841
        logp = -log_total  # of the greedy proposal  # noqa: F841
        z[:, MASK] = 0  # 0 * -inf
        entropy = log_total - np.einsum("nv,nv->n", p, z) / total  # noqa: F841
        for b in range(len(x)):
            mine = np.flatnonzero(rows == b)
            for j in mine[np.argsort(-p1[mine], kind="stable")[:k]]:
                x[b, at[j]] = best[j]


if __name__ == "__main__":
    serve(Loop(sys.argv[1]))
