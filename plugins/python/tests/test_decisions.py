import gc
import unittest
import weakref

import numpy as np

from mdmhost_plugin import Decision, Planner, PluginError, Run, planner
from mdmhost_plugin.calls import PlannerCalls, encode
from mdmhost_plugin.testing import plan, row, step
from mdmhost_plugin.v1 import plugin_pb2 as pb


class TestDecision(unittest.TestCase):
    def test_every_verb_is_sent(self):
        s = step(dict(n=4, written=[3]))
        d = (s[0].open([0]).open(np.array([1], np.int64)).remask(3).overwrite([2], [7]).overwrite([0, 1], 5).delete([2]).insert([4, 0], [1, 2]).refused(3).fill("draw")
             .act_as(2).next_t(0.5).done().go_on().metric("a", np.float32(1)).metrics({"b": 2}))
        got = encode([d], s, pb.PlanReply()).decisions[0]
        want = pb.Decision(open=[0, 1], overwrite_position=[2, 0, 1], overwrite_token=[7, 5, 5], remask=[3], delete=[2], insert_gap=[4, 0], insert_count=[1, 2], fill=2,
                           acted_as=2, next_t=0.5, done=True, metrics={"a": 1, "b": 2}, go_on=True, refused=3)
        self.assertEqual(got, want)
        self.assertEqual({f.name for f in pb.Decision.DESCRIPTOR.fields}, {f.name for f, _ in got.ListFields()}, "a field of the protocol has no verb")
        self.assertEqual(d, Decision().open([0, 1]).remask([3]).overwrite([2, 0, 1], [7, 5, 5]).delete(2).insert([4, 0], [1, 2]).refused(3).fill("draw").act_as(2).next_t(0.5)
                         .done().go_on().metrics({"a": 1, "b": 2}))

    def test_mistakes(self):
        r = row(n=3)
        for verb, want in ((lambda d: d.open([3]), "open 3, expected a position from 0 to 2"), (lambda d: d.remask(-1), "remask -1"), (lambda d: d.open([0.0]), "expected whole numbers, found float64"),
                           (lambda d: d.open(np.ones(3, bool)), "np.flatnonzero"), (lambda d: d.open([[1]]), r"found an array \[1, 1\]"), (lambda d: d.insert([4], [1]), "insert: gap 4"),
                           (lambda d: d.insert([3], [-1]), "insert count -1"), (lambda d: d.overwrite([0, 1, 2], [1, 2]), "3 positions and 2 tokens"), (lambda d: d.next_t(1.5), "next_t 1.5"),
                           (lambda d: d.next_t(float("nan")), "next_t nan"), (lambda d: d.metric("x", float("inf")), "metric x is inf"), (lambda d: d.fill("all"), "fill 'all'"),
                           (lambda d: d.act_as(-1), "act_as -1")):
            with self.subTest(want), self.assertRaisesRegex(PluginError, want):
                verb(r.decide())

    def test_answers_that_are_none(self):
        s = step(dict(n=2), dict(n=2))
        for answer, want in ((None, "plan returned NoneType, expected a list"), ([Decision()], "1 decisions, expected 2"), ([Decision(), 3], "the planner returned int, expected a decision"),
                             ([s[1].nothing(), s[0].nothing()], "the decision is that of row 1"), ([Decision(), Decision().open([2])], "open 2, expected a position from 0 to 1")):
            with self.subTest(want), self.assertRaisesRegex(PluginError, want):
                encode(answer, s, pb.PlanReply())

    def test_a_batch_is_split_in_order(self):
        s = step(dict(n=3, written=[0, 1, 2]), dict(n=0), dict(n=2, written=[0, 1]))
        got = s.decide().remask([4, 2, 0]).overwrite([3, 1], [8, 9]).metric("x", [1, 2, 3])
        self.assertEqual([d.as_dict() for d in got], [{"remask": [2, 0], "overwrite": {1: 9}, "metrics": {"x": 1}}, {"metrics": {"x": 2}},
                                                      {"remask": [1], "overwrite": {0: 8}, "metrics": {"x": 3}}])
        for bad, want in (([5], "expected 0 to 4"), ([-1], "expected 0 to 4"), ([0.5], "whole numbers")):
            with self.assertRaisesRegex(PluginError, want):
                s.open(bad)


class TestPlanner(unittest.TestCase):
    def test_a_class_has_a_value_for_every_run(self):
        class Counter(Planner):
            name, needs = "counter", ["entropy"]

            def start(self, run, options):
                self.seen = 0

            def plan_row(self, row):
                self.seen += 1
                return row.nothing().metric("seen", self.seen)

        calls = PlannerCalls(Counter, None)
        for _ in range(2):
            calls.start(pb.StartRequest(run="r"), None)
            request = pb.PlanRequest(step=pb.Step(index=[0], slot=[0], offset=[0], n=[0], blanks=[0], step=[0], steps=[1], t=[1], s=[0], alpha_t=[0], alpha_s=[1]))
            for want in (1, 2):
                self.assertEqual(calls.plan(request, None).decisions[0].metrics["seen"], want)
            calls.end(pb.EndRequest(), None)
        with self.assertRaisesRegex(PluginError, "Plan came before Start"):
            calls.plan(request, None)

    def test_a_message_is_free_after_the_call(self):
        steps = []

        class Holds(Planner):
            name = "holds"

            def plan(self, step):
                steps.append(weakref.ref(step))
                return [row.nothing() for row in step]

        calls = PlannerCalls(Holds, None)
        calls.start(pb.StartRequest(), None)
        gc.disable()  # only the count of references frees
        try:
            calls.plan(pb.PlanRequest(step=pb.Step(index=[0], slot=[0], offset=[0], n=[0], blanks=[0], step=[0], steps=[1], t=[1], s=[0], alpha_t=[0], alpha_s=[1])), None)
            self.assertIsNone(steps[0]())
        finally:
            gc.enable()

    def test_needs_of_the_options(self):
        @planner("x", needs=["entropy", "p1"], needs_for=lambda o: ["p1"])
        def x(row):
            return row.open([0]).metric("p1", row.p1[0])

        (d,) = plan(x, row(p1=[0.5], entropy=[1.0]))
        self.assertEqual(d.as_dict()["metrics"], {"p1": 0.5})
        with self.assertRaisesRegex(ValueError, "the planner needs p1; give the rows p1="):
            plan(x, row(entropy=[1.0]))

        @planner("y", needs=["entropy"], needs_for=lambda o: ["logits"])
        def y(row):
            return row.nothing()

        with self.assertRaisesRegex(PluginError, "the run's needs ask for logits"):
            plan(y, row(n=1))

    def test_runs(self):
        m = pb.StartRequest(run="r", mask_id=3, v=9, temperature=0.5, exponents=np.ones(9, "<f4").tobytes(), insertion=pb.Insertion(gap="eos", cap=9, a=2),
                            capabilities=pb.Capabilities(serves=pb.Needs(topk=3, vocab_dot=[b""]), max_rows=8, runtime="onnx"))
        run = Run.of(m)
        self.assertEqual((run.id, run.mask_id, run.insertion.cap, run.capabilities.serves.topk, run.capabilities.max_rows, run.exponents.sum()), ("r", 3, 9, 3, 8, 9))
        m.exponents = b"123"
        with self.assertRaisesRegex(PluginError, "the exponents have 3 bytes"):
            Run.of(m)
