"""Holds what an export answers, and the statistics of its head, against the reference. It imports the export's own scripts."""
import json
import os
import sys

from compare import compare, missing, np, read


def main(folder, path):
    sys.path.insert(0, folder)
    try:
        import denoiser
        import engine
    except ImportError as error:
        missing(error)
    denoise = denoiser.load(folder)
    if denoise.head:
        statistics(denoise, path, folder)
    compare(lambda *given: {k: v for k, v in denoise(*given).items() if k in ("logits", "insertion_rate", "unmask_rate")}, path, engine.STACK)


def statistics(denoise, path, folder):
    """Ends the script where the head's statistics are not those of its logits."""
    expected, _ = read(path)
    with open(os.path.join(folder, "mdm.json"), encoding="utf-8") as file:
        shifted = json.load(file).get("logits_shift", 0)
    ids, attention, times = expected["input_ids"], expected["attention_mask"], expected.get("timesteps")
    dice = np.random.default_rng(8)
    for temperature in (0.0, 1.0, 0.5):
        uniform = np.clip(dice.random(ids.shape, np.float32), 1e-6, 1 - 1e-6)
        got = denoise(ids, attention, times, temperature, uniform)
        z = got["logits"].astype(np.float64)
        z = np.concatenate([z[:, :1], z[:, :-1]], 1) if shifted else z
        z[..., expected["never"]] = -np.inf
        d = z - z.max(-1, keepdims=True)
        logp = d - np.log(np.exp(d).sum(-1, keepdims=True))
        p = np.exp(logp)
        ordered = np.sort(p, -1)
        pick = lambda tokens: np.take_along_axis(logp, tokens[..., None], -1)[..., 0]
        current = pick(np.clip(ids, 0, z.shape[-1] - 1))
        want = {"p1": ordered[..., -1], "p2": ordered[..., -2], "entropy": -(p * np.where(p > 0, logp, 0)).sum(-1), "logp_proposal": pick(got["proposal"]),
                "logp_current": np.where(np.isfinite(current), current, 0)}
        real = attention == 1
        for name, value in want.items():
            off = np.abs(got[name] - value) - 1e-5 * np.abs(value)
            if not (off[real] <= (1e-5 if z.shape[-1] <= 1024 else 2e-4)).all():
                sys.exit(f"the statistic {name} is off by {off[real].max():g} at temperature {temperature}; expected that of the logits")
        if temperature == 0:
            drawn, sure = z.argmax(-1), ordered[..., -1] - ordered[..., -2] > 1e-6
        else:
            w = np.exp(d / temperature)
            mass = w.cumsum(-1) / w.sum(-1, keepdims=True)
            drawn = (mass <= uniform[..., None]).sum(-1)
            sure = np.abs(mass - uniform[..., None]).min(-1) > 1e-5
        if (wrong := real & sure & (got["proposal"] != drawn)).any():
            sys.exit(f"{wrong.sum()} of {real.sum()} proposals at temperature {temperature} are not those of the logits")


main(*sys.argv[1:])
