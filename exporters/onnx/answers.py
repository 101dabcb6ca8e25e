"""Runs an export of any sizes on the reference, and holds its statistics head against numpy. It stands behind compare.py, and the script of a stack behind it."""
import os


def verify(run, inputs, path, stack, folder):
    """run(feeds) gives outputs by name; inputs are the shapes of its inputs by name, with None for sizes that are not fixed."""
    rows, length = inputs["input_ids"]

    def answer(input_ids, attention_mask, timesteps, temperature=0.0, uniform=None):
        B, L = input_ids.shape
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "timesteps": timesteps, "temperature": np.full(B, temperature, np.float32),
                 "uniform": np.full((B, L), 0.5, np.float32) if uniform is None else uniform}
        given = {name: value for name, value in given.items() if value is not None}
        parts = []
        for first in range(0, B, rows or B):
            part = {}
            for name, value in given.items():
                value = value[first : first + (rows or B)]
                value = np.concatenate([value, np.repeat(value[-1:], max(0, (rows or 0) - len(value)), 0)])
                part[name] = np.pad(value, ((0, 0), (0, max(0, (length or 0) - L)))) if value.ndim == 2 else value
            ids, real = part["input_ids"], part["attention_mask"]
            part["token_type_ids"], part["position_ids"] = np.zeros_like(ids), np.broadcast_to(np.arange(ids.shape[1]), ids.shape).copy()
            part["attention_bias"] = np.broadcast_to(np.where(real == 1, 0, -3e4)[:, None, None], (len(ids), 1, ids.shape[1], ids.shape[1])).astype(np.float32)
            parts.append(run({name: part[name] for name in inputs}))
        out = {name: np.concatenate([part[name] for part in parts])[:B] for name in parts[0]}
        return {name: value[:, : L + (name == "insertion_rate")] for name, value in out.items()}

    if "temperature" in inputs:
        statistics(answer, path, folder)
    compare(lambda *given: {k: v for k, v in answer(*given).items() if k in ("logits", "insertion_rate", "unmask_rate")}, path, stack)


def statistics(answer, path, folder):
    """Ends the script where the head's statistics are not those of its logits."""
    expected, _ = read(path)
    with open(os.path.join(folder, "mdm.json"), encoding="utf-8") as file:
        shifted = json.load(file).get("logits_shift", 0)
    ids, attention, times = expected["input_ids"], expected["attention_mask"], expected.get("timesteps")
    dice = np.random.default_rng(8)
    for temperature in (0.0, 1.0, 0.5):
        uniform = np.clip(dice.random(ids.shape, np.float32), 1e-6, 1 - 1e-6)
        got = answer(ids, attention, times, temperature, uniform)
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
