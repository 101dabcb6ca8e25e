import os
import random
import unittest

import numpy as np

from mdmhost_plugin import PluginError
from mdmhost_plugin.columns import COLUMNS
from mdmhost_plugin.memory import SharedMemory
from mdmhost_plugin.needs import parse_needs
from mdmhost_plugin.rows import Row
from mdmhost_plugin.step import LATER, LISTS, Step
from mdmhost_plugin.testing import row, step
from mdmhost_plugin.v1 import plugin_pb2 as pb

EVERYTHING = parse_needs(["proposal", "logp_proposal", "p1", "p2", "entropy", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel", "topk(2)", "vocab_dot(3)",
                          "insertion_rate", "unmask_rate", "frozen_gap", "logp_leave_one_out", "logits"])


def message(ns=(3, 0, 2), k=2, c=3, v=4):
    """A step with every column, whose entries count upwards."""
    m = pb.Step(run="r", n=list(ns), k=k, c=c, logits=pb.Logits(v=v))
    for i, name in enumerate(LISTS + LATER):
        getattr(m, name).extend(i + j for j in range(len(ns)))
    total, at = sum(ns), 0
    for column in COLUMNS.values():
        entries = {"n": total, "n,k": total * k, "c,n": total * c, "n+1": total + len(ns)}[column.per]
        setattr(m, column.name, (np.arange(entries) % 200 + at).astype(column.dtype).tobytes())
        at += 1
    m.logits.bytes = np.arange(total * v, dtype="<f4").tobytes()
    return m


class TestStep(unittest.TestCase):
    def test_every_column_of_the_protocol_is_known(self):
        numbers = {f.name for f in pb.Step.DESCRIPTOR.fields} - {"run", "n", "k", "c", "logits"}
        self.assertEqual(numbers, set(COLUMNS) | set(LISTS) | set(LATER))
        for name in numbers | {"n", "logits"}:
            self.assertTrue(hasattr(Row, name), name)

    def test_rows_are_parts_of_the_columns(self):
        s = Step(message(), EVERYTHING)
        for name, column in COLUMNS.items():
            parts = [getattr(r, name) for r in s]
            self.assertEqual([p.shape for p in parts], [column.shape(n, 2, 3) for n in (3, 0, 2)], name)
            self.assertEqual(np.concatenate([p.ravel() for p in parts]).tolist(), getattr(s, name).ravel().tolist(), name)
            for p in parts:
                self.assertEqual(p.dtype, np.dtype(column.dtype))
                with self.assertRaises(ValueError):
                    p[...] = 0
        self.assertEqual(s[2].logits.tolist(), np.arange(12, 20).reshape(2, 4).tolist())
        self.assertEqual((s[2].index, s[2].t, s[2].room, s[2].n, s[2].k, s[2].v), (2, 8, 14, 2, 2, 4))
        self.assertEqual(s.start.tolist(), [0, 3, 3, 5])
        self.assertEqual(s.row_of.tolist(), [0, 0, 0, 2, 2])
        self.assertEqual(s.t.tolist(), [6, 7, 8])

    def test_positions(self):
        r = row(n=6, written=[1], fixed=[2], waiting=[4])
        self.assertEqual((r.eligible.tolist(), r.masked.tolist(), r.written.tolist()), ([0, 3, 5], [0, 3, 4, 5], [1]))
        s = step(dict(n=2, fixed=[0]), dict(n=3, written=[2]))
        self.assertEqual((s.eligible.tolist(), s.masked.tolist(), s.written.tolist()), ([1, 2, 3], [1, 2, 3], [4]))

    def test_wrong_lengths_are_told(self):
        for name in (*COLUMNS, *LISTS, *LATER):
            m = message()
            old = getattr(m, name)
            if name in COLUMNS:
                setattr(m, name, old[:-1])
            else:
                del old[-1]
            with self.subTest(name), self.assertRaisesRegex(PluginError, f"step: (column|list) {name} has"):
                Step(m, EVERYTHING)
        for change, want in (({"n": [-1]}, "has -1 positions"), ({"k": -1}, "k -1"), ({"c": -2}, "c -2")):
            m = message()
            for name, value in change.items():
                m.ClearField(name)
                m.MergeFrom(pb.Step(**{name: value}))
            with self.assertRaisesRegex(PluginError, want):
                Step(m, EVERYTHING)

    def test_lists_that_hosts_of_the_first_days_do_not_send(self):
        m = message()
        for name in LATER:
            m.ClearField(name)
        self.assertEqual([(r.length, r.behind, r.room) for r in Step(m, EVERYTHING)], [(0, 0, 0)] * 3)

    def test_random_damage_is_told_or_does_no_harm(self):
        draw = random.Random(11)
        whole = message().SerializeToString()
        told = 0
        for _ in range(4000):
            raw = bytearray(whole)
            for _ in range(draw.randrange(1, 3)):
                at = draw.randrange(len(raw))
                if draw.random() < 0.5:
                    del raw[at : at + draw.randrange(1, 30)]
                else:
                    raw[at] = draw.randrange(256)
            try:
                m = pb.Step.FromString(bytes(raw))
            except Exception:  # no protobuf any more
                continue
            try:
                for r in Step(m, EVERYTHING):
                    for name in COLUMNS:
                        getattr(r, name)
                    r.logits, r.t
            except PluginError:
                told += 1
        self.assertGreater(told, 100)

    def test_what_was_not_asked_for_names_the_need(self):
        for name, need in (("p1", "p1"), ("top_ids", r"topk\(K\)"), ("gap_uniform", "insertion_rate and uniform"), ("logits", "logits"), ("vocab_dot", r"vocab_dot\(C\)")):
            with self.subTest(name), self.assertRaisesRegex(PluginError, f"{name} did not come: the plugin's needs do not declare it; add \"{need}\" to needs"):
                getattr(row(n=2, entropy=[1, 2]), name)
        with self.assertRaises(AttributeError):
            step(dict(n=1)).entropi
        m = message()
        m.ClearField("p1")
        with self.assertRaisesRegex(PluginError, "column p1 is empty, and the run needs it"):
            Step(m, EVERYTHING)[0].p1
        empty = Step(message(ns=(0,)), EVERYTHING)
        self.assertEqual(empty[0].p1.shape + empty[0].top_ids.shape, (0, 0, 2))


@unittest.skipUnless(hasattr(os, "memfd_create"), "this system has no shared memory without a name")
class TestSharedMemory(unittest.TestCase):
    def test_views_follow_the_memory(self):
        fd = os.memfd_create("logits")
        os.ftruncate(fd, 4096)
        os.pwrite(fd, np.arange(8, dtype="<f4").tobytes(), 64)
        memory = SharedMemory(fd)
        old = memory.floats(4096, 64, 8)
        self.assertEqual(old.tolist(), list(range(8)))
        os.pwrite(fd, np.float32(42).tobytes(), 64)  # nothing is copied
        self.assertEqual(old[0], 42)
        with self.assertRaises(ValueError):
            old[0] = 1
        os.ftruncate(fd, 1 << 20)
        os.pwrite(fd, np.float32(7).tobytes(), (1 << 20) - 4)
        self.assertEqual(memory.floats(1 << 20, (1 << 20) - 4, 1).tolist(), [7])
        self.assertEqual(old.tolist(), [42, *range(1, 8)])  # views into the smaller mapping live on
        for size, offset, n, want in ((4096, -4, 1, "within"), (4096, 2, 1, "within"), (4096, 4096, 1, "within"), (4096, 0, 1025, "within"), (1 << 21, 0, 1, "it has 1048576 bytes")):
            with self.assertRaisesRegex(PluginError, want):
                memory.floats(size, offset, n)
        os.close(fd)

    def test_a_step_without_memory_or_with_wrong_offsets(self):
        m = message()
        m.logits.shared_bytes = 4096
        with self.assertRaisesRegex(PluginError, "this process has none; start it through mdmhost"):
            Step(m, EVERYTHING)
        fd = os.memfd_create("logits")
        os.ftruncate(fd, 4096)
        with self.assertRaisesRegex(PluginError, "logits: 0 offsets, expected 3 rows"):
            Step(m, EVERYTHING, SharedMemory(fd))
        m.logits.offset.extend([64, 0, 0])
        os.pwrite(fd, np.arange(12, dtype="<f4").tobytes(), 64)
        self.assertEqual(Step(m, EVERYTHING, SharedMemory(fd))[0].logits.tolist(), np.arange(12).reshape(3, 4).tolist())
        os.close(fd)
