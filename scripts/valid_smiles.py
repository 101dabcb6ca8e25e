"""Judge SMILES for `mdmhost bench sampler --evaluator 'python3 scripts/valid_smiles.py'`; needs rdkit.

Reads lines {"text": "..."} and writes, for each, {"valid": true or false}: whether RDKit makes a molecule of it that
has an atom.
"""
import json
import sys

from rdkit import Chem, RDLogger

RDLogger.DisableLog("rdApp.*")
for line in sys.stdin:
    molecule = Chem.MolFromSmiles(json.loads(line)["text"])
    print(json.dumps({"valid": molecule is not None and molecule.GetNumAtoms() > 0}), flush=True)
