"""PYTHON -m unittest discover -s scripts/molecules -p 'chemistry_test.py'; PYTHON needs rdkit."""

import json
import os
import random
import unittest
from collections import Counter

from rdkit import Chem

import chemistry
import fragments
import safe
import score

HERE = os.path.dirname(os.path.abspath(__file__))
MOLECULES = ["CCCCNC(=O)Cn1cnc2nc(SCC)ncc2c1=O", "COc1ccc(-c2cc(C)n(C(C)C)c(=O)c2C#N)cc1", "Nc1cccc2c1N(CCCc1ccccc1)C(=O)CO2",
             "CC(C)(C)OC(=O)N1CCC(C)(C(=O)NC2C=CCCC2)CC1", "C#Cc1cccc(Nc2ncnc3cc(OCCOC)c(OCCOC)cc23)c1", "Clc1cc2[nH]cnc2c(Br)c1Cl"]


class TestChemistry(unittest.TestCase):
    def test_encoding_comes_back(self):
        rng = random.Random(1)
        for smiles in MOLECULES * 20:
            molecule = chemistry.parsed(smiles)
            cuts = [c for c in chemistry.brics_bonds(molecule) if rng.random() < 0.7]
            text = chemistry.encoded(molecule, cuts, rng)
            self.assertEqual(text.count("."), len(cuts))
            self.assertTrue(chemistry.strict(text))
            self.assertEqual(chemistry.decoded(text), Chem.CanonSmiles(smiles))
            self.assertEqual(chemistry.decoded(safe.to_bracket(text)), Chem.CanonSmiles(smiles))
            self.assertEqual(safe.to_plain(safe.to_bracket(text)), text)
            labels = [n for n in Counter(map(safe.ring, safe.tokens(text))) if n is not None and n >= safe.FIRST_LABEL]
            self.assertEqual(len(labels), len(cuts))

    def test_decoding(self):
        for text, want in {
            "CCO": "CCO", "C5O": "CO", "c15ccccc1.xx.C5Cl": "ClCc1ccccc1", "n15cccc1": "c1cc[nH]c1", "CC.CCCO": "CCCO",
            "C1CC1<1>.N<1>": "NC1CC1", "C<%10>.N<%10>": "CN", "": None, "5": None, "*": None, "[H]": None, "C56.C56": None, "c5ccccc1": None,
        }.items():
            self.assertEqual(chemistry.decoded(text), want, text)
        self.assertEqual([chemistry.strict(t) for t in ["C5.O5", "C5O", "C.C", "C5.O5.xx"]], [True, False, False, False])

    def test_scores(self):
        aspirin = "CC(=O)Oc1ccccc1C(=O)O"
        qed, sa = chemistry.scores(aspirin)  # 0.55 in Bickerton et al. 2012; 1.58 by RDKit's own test of the SA score
        self.assertAlmostEqual(qed, 0.550, places=3)
        self.assertAlmostEqual(sa, 1.58, places=2)
        # CCO three times (whole, of two fragments, with an open label), one that does not hold the fragment, one of nothing
        values = score.measured(["CCO", "C5.C5O", "CCN", "x", "C5CO"], fragment="CO")
        self.assertEqual(values[:2], [3 / 5, 1 / 3])
        self.assertIsNone(values[2])
        self.assertEqual(values[5], 2 / 5)
        self.assertAlmostEqual(score.measured(["CCO", "CCN"])[2], 1 - 1 / 3)  # of 2 + 2 + 2 environments two are common
        drug = "Cc1ccc(NC(=O)c2ccccc2)cc1"
        self.assertEqual(score.measured([drug, drug + ".x", "C", "x"])[3:], [1 / 4, 2 / 4, 2 / 4, 1 / 4])

    def test_tasks_in_the_repository(self):
        with open(os.path.join(HERE, "drugs.csv"), encoding="utf-8") as f:
            whole = dict(line.strip().split(",") for line in list(f)[1:])
        for name in ("drugs", "moses"):
            with open(os.path.join(HERE, name + ".jsonl"), encoding="utf-8") as f:
                tasks = [json.loads(line) for line in f]
            self.assertEqual(len({t["of"] for t in tasks}), 10)
            for t in tasks:
                molecule = chemistry.parsed(whole.get(t["of"], t["of"]))
                self.assertTrue(molecule.HasSubstructMatch(chemistry.parsed(t["fragment"])), t)
                self.assertIsNotNone(chemistry.decoded(t["prompt"]), t)
                parts, opened = t["prompt"].rstrip(".").split("."), safe.open_numbers(t["prompt"])
                self.assertEqual(len(parts), 2 if t["task"] == "linker design" else 1)
                if t["task"] != "scaffold decoration":
                    self.assertEqual(len(opened), len(parts))
                self.assertGreater(len(opened), 0)
        again = [t for name, smiles in whole.items() for t in fragments.made(name, smiles, 32, 1)]
        with open(os.path.join(HERE, "drugs.jsonl"), encoding="utf-8") as f:
            self.assertEqual(again, [json.loads(line) for line in f])


if __name__ == "__main__":
    unittest.main()
