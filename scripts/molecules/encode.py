"""SAFE strings to train on: encode.py [--share 0.5] [--seed 1] [--rows N] MOLECULES.csv[.gz] >SAFE.csv

Reads the column SMILES; writes the columns SMILES,SAFE. Of the bonds that BRICS cuts each is cut with probability --share, and
fragments come in random order, so that a model learns fragments of every size and to go on from any of them. Molecules
that do not come back are left out, and counted on standard error.
"""

import argparse
import csv
import gzip
import random
import sys

from rdkit import Chem

import chemistry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("molecules")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, help="of the file, the first ones")
    given = parser.parse_args()
    rng, read, lost = random.Random(given.seed), 0, 0
    opened = gzip.open if given.molecules.endswith(".gz") else open
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["SMILES", "SAFE"])
    with opened(given.molecules, "rt", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if given.rows is not None and read == given.rows:
                break
            read += 1
            molecule = chemistry.parsed(row["SMILES"])
            if molecule is not None:
                cuts = [c for c in chemistry.brics_bonds(molecule) if rng.random() < given.share]
                text = chemistry.encoded(molecule, cuts, rng)
            if molecule is None or chemistry.decoded(text) != Chem.MolToSmiles(molecule):
                lost += 1
                continue
            out.writerow([row["SMILES"], text])
    print(f"{read - lost} of {read} molecules, {lost} do not come back", file=sys.stderr)


if __name__ == "__main__":
    main()
