"""Golden values of sampling.Compute: python compute.py > compute.json

Runs the independent reference (../shared/reference/samplers.py beside the repository, or the folder in MDM_REFERENCE).
Infinite logits are written as null.
"""
import json
import os
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.environ.get("MDM_REFERENCE", os.path.join(here, "../../../../shared/reference")))
from samplers import draw_tokens, filter_min_p, filter_top_k, filter_top_p, apply_forbid, position_stats  # noqa: E402

g = np.random.default_rng(3)
cases = []
for v in (1, 2, 3, 17, 120):
    for shape in ("normal", "ties", "holes", "sharp"):
        for t, k, p, mp in ((0, 0, 1, 0), (1, 0, 1, 0), (0.7, 0, 1, 0), (1, 3, 1, 0), (0.7, 0, 0.6, 0), (1, 5, 0.9, 0.05), (1.3, 0, 1, 0.2)):
            z = (g.normal(size=v) * 3).astype(np.float32)
            if shape == "ties":
                z = np.round(z)
            if shape == "holes":
                z[g.random(v) < 0.4] = -np.inf
                z[-1] = 0.5
            if shape == "sharp":
                z[v // 2] += 40
            forbid = [0] if v > 2 else []
            if not np.isfinite(apply_forbid(z, forbid)).any():
                continue
            z, t, p, mp = z.astype(np.float64), float(np.float32(t)), float(np.float32(p)), float(np.float32(mp))
            u, gum = g.random(), -np.log(-np.log(g.random(v)))
            cur = int(g.integers(v))
            st = position_stats(z[None], forbid, current=np.array([cur]))
            kw = dict(temperature=t, top_k=k, top_p=p, min_p=mp)
            model = st["entropy"][0]
            sampling = model
            peaks = {"tempered": st, "sampling": st}
            tempered = z - st["lnZ"][0]
            if t > 0:
                zt = apply_forbid(z[None], forbid) / t
                tempered = z / t - position_stats(zt)["lnZ"][0]
                peaks = {"tempered": position_stats(zt), "sampling": position_stats(filter_min_p(filter_top_p(filter_top_k(zt, k), p), mp))}
                sampling = peaks["sampling"]["entropy"][0]
            x = int(draw_tokens(z[None], forbid, u=np.array([u]), **kw)[0])
            order = [int(i) for i in np.argsort(-apply_forbid(z, forbid), kind="stable") if np.isfinite(z[i]) and i not in forbid][:4]
            num = lambda a: float(a) if np.isfinite(a) else None  # noqa: E731
            cases.append(dict(
                logits=[num(a) for a in z], forbid=forbid, current=cur, u=u, gumbel=gum.tolist(), t=t, k=k, p=p, min_p=mp,
                p1=st["p_max"][0], p2=st["p_second"][0], peaks={on: [s["p_max"][0], s["p_second"][0]] for on, s in peaks.items()}, entropy=model, entropy_sampling=sampling,
                logp_current=None if cur in forbid else num(z[cur] - st["lnZ"][0]),
                proposal=x, gumbel_proposal=int(draw_tokens(z[None], forbid, gumbel=gum[None], **kw)[0]),
                logp_model=z[x] - st["lnZ"][0], logp_tempered=tempered[x],
                top=order, top_logp=[z[i] - st["lnZ"][0] for i in order],
                dot=float((np.exp(apply_forbid(z, forbid) - st["lnZ"][0]) * np.arange(v)).sum())))
json.dump(cases, sys.stdout, separators=(",", ":"))
