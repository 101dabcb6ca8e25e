"""Table of samples: score.py [--tasks TASKS.jsonl] NAME=SAMPLES.jsonl...

SAMPLES are lines of `mdmhost sample --format jsonl`. Each file makes one line of the table; with --tasks, whose lines are those
of fragments.py that were sampled, each of a file's tasks does: its numbers are means over the task's molecules, and only
samples that hold the given fragment are valid.
"""

import argparse
import json
import sys
from statistics import mean

from rdkit import DataStructs

import chemistry

COLUMNS = ["validity", "uniqueness", "diversity", "quality", "quality, copies count", "whole", "whole and good"]


def measured(texts, fragment=None):
    """The numbers of some samples, in the order of COLUMNS; diversity is None where fewer than two molecules differ.

    validity    share that decodes (and holds the fragment)
    uniqueness  distinct molecules / valid ones
    diversity   mean Tanimoto distance of Morgan fingerprints, radius 2, over pairs of distinct molecules
    quality     QED >= 0.6 and SA <= 4: distinct molecules / samples; then with copies / samples
    whole       one molecule as it stands, no fragment dropped and no label open / samples; then those of them that are distinct
                and have quality / samples
    """
    valid = [(text, smiles) for text in texts if (smiles := chemistry.decoded(text)) is not None]
    if fragment is not None:
        query = chemistry.parsed(fragment)
        valid = [v for v in valid if chemistry.parsed(v[1]).HasSubstructMatch(query)]
    distinct = sorted({smiles for _, smiles in valid})
    good = {smiles for smiles in distinct if chemistry.good(*chemistry.scores(smiles))}
    whole = [smiles for text, smiles in valid if chemistry.strict(text)]
    n = len(texts)
    return [len(valid) / n, len(distinct) / max(len(valid), 1), diversity(distinct), len(good) / n, sum(smiles in good for _, smiles in valid) / n,
            len(whole) / n, len(good & set(whole)) / n]


def diversity(distinct):
    """Mean pairwise distance, or None of fewer than two molecules."""
    prints = [chemistry.fingerprint(s) for s in distinct]
    pairs = len(prints) * (len(prints) - 1) // 2
    return sum(sum(1 - t for t in DataStructs.BulkTanimotoSimilarity(p, prints[:i])) for i, p in enumerate(prints)) / pairs if pairs else None


def texts(path):
    """The texts of a file of samples, by their index; a row that failed is an error."""
    with open(path, encoding="utf-8") as f:
        rows = sorted(map(json.loads, f), key=lambda row: row["index"])
    bad = [row["index"] for row in rows if "error" in row]
    if bad or [row["index"] for row in rows] != list(range(len(rows))) or not rows:
        sys.exit(f"{path}: expected whole samples 0, 1, ..., found {len(rows)}, of which {len(bad)} failed; sample again")
    return [row["text"] for row in rows]


def averaged(lines):
    """Means over molecules; what None says nothing of is left out."""
    return [mean(v) if (v := [line[i] for line in lines if line[i] is not None]) else None for i in range(len(COLUMNS))]


def line(name, n, values):
    shown = ["-" if v is None else f"{v:.3f}" if column == "diversity" else f"{100 * v:.1f}" for column, v in zip(COLUMNS, values)]
    return f"| {name} | {n} | " + " | ".join(shown) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks")
    parser.add_argument("--no-header", action="store_true", help="leave out the head of the table")
    parser.add_argument("samples", nargs="+")
    given = parser.parse_args()
    if not given.no_header:
        print("| samples | n | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 2) + "|")
    tasks = None
    if given.tasks:
        with open(given.tasks, encoding="utf-8") as f:
            tasks = [json.loads(text) for text in f]
    for name, path in (s.split("=", 1) for s in given.samples):
        rows = texts(path)
        if tasks is None:
            print(line(name, len(rows), measured(rows)), flush=True)
            continue
        each, rest = divmod(len(rows), len(tasks))
        if rest:
            sys.exit(f"{path}: {len(rows)} samples of {len(tasks)} tasks; expected as many of each")
        by = {}
        for i, task in enumerate(tasks):
            by.setdefault(task["task"], []).append(measured(rows[i * each : (i + 1) * each], task["fragment"]))
        for task, lines in by.items():
            print(line(f"{name}, {task}", each * len(lines), averaged(lines)), flush=True)


if __name__ == "__main__":
    main()
