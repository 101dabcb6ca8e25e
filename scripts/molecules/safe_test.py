"""python3 -m unittest discover -s scripts/molecules -p 'safe_test.py'"""

import random
import unittest

import order
import safe


class TestSafe(unittest.TestCase):
    def test_tokens_lose_nothing(self):
        rng = random.Random(1)
        for _ in range(2000):
            text = "".join(rng.choice(["C", "Cl", "[nH]", "%12", "%(123)", "<1>", "<%10>", "1", ".", "<", "%", "[", "é", "("]) for _ in range(20))
            self.assertEqual("".join(safe.tokens(text)), text)
        self.assertEqual(safe.tokens("c1%10[nH]<%10>Br<2>"), ["c", "1", "%10", "[nH]", "<%10>", "Br", "<2>"])

    def test_bracket_of_plain(self):
        for plain, bracket in {
            "c15ccccc1.C5O": "c1<1>ccccc1.C<1>O",
            "c17ccc(Br)cc1.c16cc7on1.C4C5C.C36=O.CO4.N35": "c1<1>ccc(Br)cc1.c1<2>cc<1>on1.C<3>C<4>C.C<5><2>=O.CO<3>.N<5><4>",
            "C%10C.N%10": "C<1>C.N<1>",
            "C1CC1": "C1CC1",
            "C1CC13.N3": "C1CC1<1>.N<1>",
            "C11C1.N1": "C11C<1>.N<1>",  # a ring number that becomes a label in the same fragment
            "": "",
        }.items():
            self.assertEqual(safe.to_bracket(plain), bracket)

    def test_plain_of_bracket(self):
        for bracket, plain in {
            "c1<1>ccccc1.C<1>O": "c15ccccc1.C5O",
            "C<%10>C.N<%10>": "C5C.N5",  # labels are packed, in their order
            "C%11CC%11<1>.N<2><1>O.C<2>": "C%11CC%11%12.N%13%12O.C%13",
            "C<": "C<",
            "CCO": "CCO",
        }.items():
            self.assertEqual(safe.to_plain(bracket), plain)
        many = ".".join(f"C{safe.bracketed(k)}.N{safe.bracketed(k)}" for k in range(1, 120))
        self.assertIn("C99.".replace("99", "%99"), safe.to_plain(many))
        self.assertIn("N%(123)", safe.to_plain(many))

    def test_there_and_back(self):
        """Trees of fragments with any number of labels: plain -> bracket -> plain gives the text back."""
        rng = random.Random(2)
        for _ in range(500):
            count = rng.randint(1, 40)
            order = []  # labels by first appearance, as to_plain numbers them
            links = [[] for _ in range(count)]
            for child in range(1, count):
                parent = rng.randrange(child)
                links[parent].append(child)
                links[child].append(child)
            for ends in links:
                order += [e for e in ends if e not in order]
            name = {e: safe.written(safe.FIRST_LABEL + i) for i, e in enumerate(order)}
            plain = ".".join(rng.choice(["c1", "C", "C1CC1", "[nH]1"]) + "".join(name[e] for e in ends) for ends in links)
            plain = ".".join(f + ("cccc1" if f.startswith(("c1", "[nH]1")) else "") for f in plain.split("."))
            self.assertEqual(safe.to_plain(safe.to_bracket(plain)), plain)

    def test_capped(self):
        self.assertEqual(safe.capped("c15ccc%12cc1"), "c15ccc%12cc1.*5.*%12")
        self.assertEqual(safe.capped("C5.N5"), "C5.N5")

    def test_attach(self):
        for smiles, numbers, want in [
            ("c1(*)ccccc1", [5], "c15ccccc1"),
            ("C(=O)*", [5], "C5=O"),
            ("C(*)C(C(=O)*)=O", [5, 6], "C5C(C6=O)=O"),
            ("C(*)(*)*", [5, 6, 11], "C56%11"),
            ("c1c(*)cc(*)cc1*", [7, 6, 5], "c1c7cc6cc15"),
            ("C1(C(*)N)CC1", [5], "C1(C5N)CC1"),
            ("CC#C*", [5], "CC#C5"),
            ("O(*)*", [5, 6], "O56"),
            ("C(C(=O)*)(N)*", [5, 6], "C6(C5=O)N"),
        ]:
            self.assertEqual(safe.attach(smiles, numbers), want)

    def test_order(self):
        self.assertEqual(order.classes("c15cBr=[nH]1.C5%12")[:7], ["aromatic atom", "ring number", "label", "aromatic atom", "aliphatic atom", "branch or bond", "aromatic atom"])
        self.assertEqual(order.classes("C1(C1).[H]%10"), ["aliphatic atom", "ring number", "branch or bond", "aliphatic atom", "ring number", "branch or bond", "fragment dot", "aliphatic atom", "label"])
        self.assertEqual(order.places([3, 1, 3, 9]), [0.5, 0, 0.5, 1])
        self.assertEqual(order.places([7]), [0])
        rows = [{"index": 0, "text": "C.C", "tokens": [1, 2, 1, 9], "born": [0, 0, 4, -1], "step_map": [5, 4, 3, -1]}]
        self.assertEqual(order.table(rows), [("fragment dot", 1, 0.25, 0.5), ("aliphatic atom", 2, 0.625, 0.5)])
        with self.assertRaisesRegex(ValueError, "sample 0: expected text"):
            order.table([rows[0] | {"born": [-1, 0, 4, -1]}])


if __name__ == "__main__":
    unittest.main()
