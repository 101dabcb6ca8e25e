"""In which order a model writes: order.py NAME=SAMPLES.jsonl...

SAMPLES are lines of `mdmhost sample --format jsonl --details` from nothing. For each class of tokens: their share, and the mean place
of their insertion and of their opening among the tokens of a molecule, from 0 (the first) to 1 (the last; steps that several
tokens share count as their middle). 0.5 everywhere is no order.
"""

import json
import sys
from collections import defaultdict
from statistics import mean

import safe

CLASSES = ["fragment dot", "label", "ring number", "branch or bond", "aromatic atom", "aliphatic atom"]


def classes(text):
    """The class of each token of a text; a number that is left open in its fragment is a label."""
    return [kind(t) for t in safe.tokens(safe.to_bracket(text))]


def kind(token):
    if token == ".":
        return "fragment dot"
    if safe.label(token) is not None:
        return "label"
    if safe.ring(token) is not None:
        return "ring number"
    if token in "()-=#:$/\\":
        return "branch or bond"
    return "aromatic atom" if token.strip("[")[0].islower() else "aliphatic atom"


def places(steps):
    """The place of each of some steps among them, from 0 to 1."""
    last = max(len(steps) - 1, 1)
    return [(sum(s < step for s in steps) + (steps.count(step) - 1) / 2) / last for step in steps]


def table(rows):
    """Of each class the number of tokens, and the mean places of insertion and opening."""
    inserted, opened = defaultdict(list), defaultdict(list)
    for row in rows:
        found = classes(row["text"])
        n = len(found)
        if n != len(row["tokens"]) - 1 or -1 in row["born"][:n]:
            raise ValueError(f"sample {row['index']}: expected text that was written from nothing, one token a piece, and an end")
        for of, steps in ((inserted, row["born"]), (opened, row["step_map"])):
            for c, place in zip(found, places(steps[:n])):
                of[c].append(place)
    return [(c, len(opened[c]), mean(inserted[c]), mean(opened[c])) for c in CLASSES if opened[c]]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| samples | tokens | share | inserted | opened |\n|---|---|---|---|---|")
    for name, path in (s.split("=", 1) for s in sys.argv[1:]):
        with open(path, encoding="utf-8") as f:
            lines = table(map(json.loads, f))
        total = sum(n for _, n, _, _ in lines)
        for c, n, inserted, opened in lines:
            print(f"| {name} | {c} | {100 * n / total:.1f} % | {inserted:.3f} | {opened:.3f} |")


if __name__ == "__main__":
    main()
