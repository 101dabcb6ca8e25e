"""Judge molecules for `mdmhost bench sampler --evaluator 'PYTHON scripts/molecules/judge.py'`; PYTHON needs rdkit.

Reads lines {"text": "..."} of SMILES, plain SAFE or bracket SAFE and writes, for each, a line of numbers: valid (it decodes), whole
(it is one molecule as it stands), qed, sa (synthetic accessibility) and quality (QED >= 0.6 and SA <= 4; copies count). What does not
decode has qed 0 and sa 10.
"""

import json
import sys

import chemistry

for line in sys.stdin:
    text = json.loads(line)["text"]
    smiles = chemistry.decoded(text)
    qed, sa = (0.0, 10.0) if smiles is None else chemistry.scores(smiles)
    print(json.dumps({"valid": smiles is not None, "whole": chemistry.strict(text), "qed": qed, "sa": sa, "quality": chemistry.good(qed, sa)}), flush=True)
