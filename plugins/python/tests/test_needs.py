import unittest

import numpy as np

from mdmhost_plugin import PluginError, vocab_dot
from mdmhost_plugin.needs import FLAGS, Needs, parse_needs
from mdmhost_plugin.v1 import plugin_pb2 as pb

EVERY = ["proposal", "logp_proposal(on=noised)", "p1(on=sampling)", "p2(on=sampling)", "entropy(on=sampling)", "logp_current", "kl_prev", "planner_score",
         "uniform", "gumbel", "topk(4)", "vocab_dot(2)", "insertion_rate", "unmask_rate", "frozen_gap", "logp_leave_one_out", "logits"]


class TestNeeds(unittest.TestCase):
    def test_texts_come_back(self):
        self.assertEqual(parse_needs(EVERY).list(), EVERY)
        self.assertEqual(parse_needs("entropy").list(), ["entropy(on=model)"])
        self.assertEqual(parse_needs(["topk(2)", "topk( 7 )", "p2(on=tempered)", "p1"]).list(), ["p1(on=tempered)", "p2(on=tempered)", "topk(7)"])

    def test_every_field_of_the_protocol_is_known(self):
        self.assertEqual(set(Needs.__dataclass_fields__), {f.name for f in pb.Needs.DESCRIPTOR.fields})
        self.assertLess(set(FLAGS), set(Needs.__dataclass_fields__))
        m = parse_needs(EVERY).proto(pb)
        for f in pb.Needs.DESCRIPTOR.fields:
            self.assertTrue(getattr(m, f.name), f.name)

    def test_vectors(self):
        needs = parse_needs([vocab_dot([1, 2]), vocab_dot([[3, 4], [5, 6]])])
        self.assertEqual([np.frombuffer(v, "<f4").tolist() for v in needs.vocab_dot], [[1, 2], [3, 4], [5, 6]])

    def test_wrong_texts(self):
        for texts, want in ((["entropi"], "'entropi': unknown; expected one of entropy, "), (["topk"], r"expected a number, as in topk\(4\)"), (["topk(0)"], "expected a number"),
                            (["entropy(on=noised)"], "expected on=model or on=sampling"), (["logits(3)"], "unknown"), (["p1(on=model)", "p2(on=sampling)"], "one distribution"),
                            (["entropy(on=model)", "entropy(on=sampling)"], "another need asks for on=model")):
            with self.subTest(texts), self.assertRaisesRegex(ValueError, want):
                parse_needs(texts)

    def test_within(self):
        declared = parse_needs(EVERY)
        for texts in (EVERY, ["entropy"], ["topk(1)"], ["p1"], [vocab_dot(np.ones((2, 3)))]):
            parse_needs(texts).within(declared)
        for texts in (["topk(5)"], ["logits"]):
            with self.assertRaisesRegex(PluginError, "which the plugin's needs do not declare"):
                parse_needs(texts).within(parse_needs(["entropy", "topk(4)"]))
