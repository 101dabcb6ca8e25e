"""Holds what a stack answers against the reference of an export's source. Scripts that verify import it."""
import json
import sys


def missing(error):
    """Ends the script: what it needs is not installed."""
    print(f"{sys.executable}: {error}", file=sys.stderr)
    sys.exit(3)


try:
    import numpy as np
    from safetensors import safe_open
except ImportError as error:
    missing(error)

NEAR = 1e-5  # margins below it are ties


def read(path):
    """The tensors of a reference by name, and the id of the mask."""
    with safe_open(path, "np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, int(file.metadata()["mask_token_id"])


def largest(got, want, real, relative=False):
    """The largest difference where real is true. Equal infinities do not differ."""
    got, want = got[real].astype(np.float64), want[real].astype(np.float64)
    different = got != want
    off = np.abs(got[different] - want[different])
    if relative:
        off = off / np.where(want[different] == 0, 1, np.abs(want[different]))
    if not np.isfinite(off).all():
        sys.exit("it answers with what is no number; expected those of the source")
    return float(off.max(initial=0))


def compare(answer, path, stack):
    """Prints the verdict on answer(input_ids [B, L], attention_mask [B, L], timesteps [B] or None), which gives a dictionary of arrays."""
    expected, mask = read(path)
    attention, times = expected["attention_mask"], expected.get("timesteps")
    real = attention == 1
    got = answer(expected["input_ids"], attention, times)
    for name in ("logits", "insertion_rate", "unmask_rate"):
        if (name in got) != (name in expected):
            sys.exit(f"it gives {', '.join(sorted(got))}; expected {name} as the source does")
    behind = np.pad(real, ((0, 0), (1, 0)), constant_values=True)  # gap 0, and those behind a real position
    verdict = {
        "stack": stack, "positions": int(real.sum()), "max_logit_difference": largest(got["logits"], expected["logits"], real),
        "max_rate_difference": max([0.0] + [largest(got[name], expected[name], where, relative=True)
                                            for name, where in (("insertion_rate", behind), ("unmask_rate", real)) if name in got]),
        "tokens": int((expected["order"] >= 0).sum()),
    }
    verdict["tokens_differ"], verdict["near_ties"] = write(answer, expected, mask)
    print(json.dumps(verdict))


def write(answer, expected, mask):
    """Opens the masks one by one at temperature 0, goes on as the source did, and counts where it would have gone on otherwise."""
    rows, order, differ, ties = expected["begin"].copy(), expected["order"], 0, 0
    for step in range(int(order.max()) + 1):
        logits = answer(rows, expected["attention_mask"], expected.get("timesteps"))["logits"].astype(np.float64)
        logits[..., expected["never"]] = -np.inf
        best = logits.max(-1)
        probability = np.where(rows == mask, 1 / np.exp(logits - best[..., None]).sum(-1), -1)
        for row, position in np.argwhere(order == step):
            own = int(probability[row].argmax())
            if own != position or int(logits[row, own].argmax()) != expected["written"][row, position]:
                differ += 1
                ties += int(expected["margin"][row, position] < NEAR)
            rows[row, position] = expected["written"][row, position]
    return differ, ties
