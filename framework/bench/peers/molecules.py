"""Chemistry of samples: molecules.py ANSWERS.jsonl [TRAIN.csv.gz]

Prints, as JSON: rows, valid (share that RDKit parses), unique (share of the valid ones that differ), new (share of the unique
ones that the training set lacks), and atoms (mean size of the valid ones).
"""

import csv
import gzip
import json
import sys

from rdkit import Chem, RDLogger

RDLogger.DisableLog("rdApp.*")


def canonical(text):
    molecule = Chem.MolFromSmiles(text) if text else None
    return (Chem.MolToSmiles(molecule), molecule.GetNumAtoms()) if molecule is not None else None


rows = [json.loads(line)["text"] for line in open(sys.argv[1])]
valid = [c for c in map(canonical, rows) if c]
unique = {smiles for smiles, _ in valid}
out = {"rows": len(rows), "valid": len(valid) / len(rows), "unique": len(unique) / max(len(valid), 1), "atoms": sum(n for _, n in valid) / max(len(valid), 1)}
if len(sys.argv) > 2:
    with gzip.open(sys.argv[2], "rt") as f:
        known = {c[0] for c in (canonical(row["SMILES"]) for row in csv.DictReader(f)) if c}
    out["new"] = len(unique - known) / max(len(unique), 1)
print(json.dumps(out))
