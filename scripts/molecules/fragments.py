"""Fragment-constrained tasks: given parts of known molecules, to be completed.

fragments.py make [--limit 30] [--first N] MOLECULES.csv[.gz] >TASKS.jsonl
    Reads the column SMILES (and NAME). Writes at most four tasks of each molecule, as lines {"task", "of", "fragment", "prompt"}: the
    prompt is plain SAFE of the given parts, whole, with open labels and a "." behind it, of at most --limit tokens; the
    fragment, SMILES of those parts, is what a sample must hold. With --first, the first N molecules that give all four.
fragments.py fit TASKS.jsonl MODEL OUT.jsonl PROMPTS.jsonl
    Writes the tasks whose prompts the tokenizer of a model directory can spell, and their lines for `mdmhost sample --prompts`.

linker design: two side chains, what joins them is asked for. motif extension: a part with a ring and one open bond. scaffold
decoration: the molecule without its leaves, a bond open for each. superstructure: its largest part with a ring, with a bond
opened at random. Parts are those that BRICS cuts make, and bonds from rings to chains where BRICS has fewer than two.
"""

import argparse
import csv
import gzip
import itertools
import json
import random
import sys
from pathlib import Path

from rdkit import Chem

import chemistry
import safe


def cuttable(molecule):
    """Bonds that tasks may cut."""
    bonds = chemistry.brics_bonds(molecule)
    if len(bonds) > 1:
        return bonds
    chains = Chem.MolFromSmarts("[R]-;!@[!#1]")
    return sorted({*bonds, *(tuple(sorted(m)) for m in molecule.GetSubstructMatches(chains))})


def closed(parts):
    """SMILES of parts with hydrogen for their open bonds."""
    return ".".join(chemistry.decoded(chemistry.joined([p])) for p in parts)


def heavy(part):
    """Atoms of a part."""
    return chemistry.parsed(closed([part])).GetNumHeavyAtoms()


def ringed(part):
    return any(safe.ring(t) is not None for t in safe.tokens(part[0]))


def linker(molecule, cuts):
    """Pairs of side chains, those first whose smaller one is largest."""
    found = []
    for pair in itertools.combinations(cuts, 2):
        parts = chemistry.fragments(molecule, list(pair))
        middle = [p for p in parts if len(p[1]) == 2]
        sides = sorted((p for p in parts if len(p[1]) == 1), key=heavy, reverse=True)
        if middle and heavy(middle[0]) > 1 and heavy(sides[1]) > 2:
            found.append((-heavy(sides[1]), heavy(middle[0]), sides))
    return [sides for *_, sides in sorted(found, key=lambda f: f[:2])]


def motif(molecule, cuts):
    """Parts with a ring and one open bond, those first that are nearest to half the molecule."""
    parts = [p for c in cuts for p in chemistry.fragments(molecule, [c]) if ringed(p)]
    return [[p] for p in sorted(parts, key=lambda p: abs(2 * heavy(p) - molecule.GetNumHeavyAtoms()))]


def scaffold(molecule, cuts):
    """What is left without leaves that have no ring, then without more and more leaves, the smallest first."""
    left, out = chemistry.fragments(molecule, cuts), []
    while True:
        ends = [c for _, of in left for c in of]  # a cut between two of the parts that are left is there twice
        leaves = [p for p in left if sum(ends.count(c) > 1 for c in p[1]) == 1]
        if len(left) < len(cuts) + 1 and all(map(ringed, leaves)) and any(map(ringed, left)):
            edge = [cuts[c] for c in range(len(cuts)) if ends.count(c) == 1]
            size = sum(map(heavy, left))
            out.append([next(p for p in chemistry.fragments(molecule, edge) if len(p[1]) == len(edge) and heavy(p) == size)])
        if not leaves:
            return out
        left.remove(min(leaves, key=lambda p: (ringed(p), heavy(p))))


def superstructure(molecule, cuts, rng):
    """Parts with a ring, the largest first, with a bond opened at an atom that has hydrogen."""
    out = []
    for p in sorted(filter(ringed, chemistry.fragments(molecule, cuts)), key=heavy, reverse=True):
        part = Chem.AddHs(chemistry.parsed(closed([p])))
        hydrogens = [a.GetIdx() for a in part.GetAtoms() if a.GetAtomicNum() == 1]
        if hydrogens:
            part.GetAtomWithIdx(rng.choice(hydrogens)).SetAtomicNum(0)
            out.append([chemistry.written(Chem.RemoveHs(part))])
    return out


TASKS = {"linker design": linker, "motif extension": motif, "scaffold decoration": scaffold}


def made(name, smiles, limit, seed):
    """The tasks of one molecule whose prompts are no longer than limit tokens."""
    molecule = chemistry.parsed(smiles)
    cuts = cuttable(molecule)
    choices = {task: find(molecule, cuts) for task, find in TASKS.items()}
    choices["superstructure"] = superstructure(molecule, cuts, random.Random(f"{seed} {name}"))
    for task, found in choices.items():
        for parts in found:
            prompt, fragment = chemistry.joined(parts) + ".", closed(parts)
            if len(safe.tokens(prompt)) <= limit and molecule.HasSubstructMatch(chemistry.parsed(fragment)):
                yield {"task": task, "of": name, "fragment": fragment, "prompt": prompt}
                break


def make(given):
    opened, full = gzip.open if given.molecules.endswith(".gz") else open, 0
    with opened(given.molecules, "rt", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            name = row.get("NAME", row["SMILES"])
            tasks = list(made(name, row["SMILES"], given.limit, given.seed))
            missing = {*TASKS, "superstructure"} - {t["task"] for t in tasks}
            full += not missing
            if given.first is None and missing:
                print(f"{name}: no {', no '.join(sorted(missing))} of at most {given.limit} tokens", file=sys.stderr)
            if given.first is None or not missing:
                for task in tasks:
                    print(json.dumps(task))
            if given.first == full:
                break


def fit(given):
    model = Path(given.model)
    known = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    with open(given.tasks, encoding="utf-8") as f, open(given.out, "w", encoding="utf-8") as out, open(given.prompts, "w", encoding="utf-8") as prompts:
        for task in map(json.loads, f):
            strange = [t for t in safe.tokens(task["prompt"]) if t not in known]
            if strange:
                print(f"{task['of']}, {task['task']}: left out, the model does not know {' '.join(strange)}", file=sys.stderr)
                continue
            out.write(json.dumps(task) + "\n")
            prompts.write(json.dumps({"prompt": task["prompt"]}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    c = commands.add_parser("make")
    c.add_argument("--limit", type=int, default=30)
    c.add_argument("--first", type=int)
    c.add_argument("--seed", type=int, default=1)
    c.add_argument("molecules")
    c.set_defaults(run=make)
    c = commands.add_parser("fit")
    for name in ("tasks", "model", "out", "prompts"):
        c.add_argument(name)
    c.set_defaults(run=fit)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
