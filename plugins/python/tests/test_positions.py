import unittest

import numpy as np

from mdmhost_plugin import PluginError, ascending, descending, largest, smallest
from mdmhost_plugin.testing import step


class TestChoice(unittest.TestCase):
    def test_as_sorting_says(self):
        draw = np.random.default_rng(3)
        for _ in range(300):
            n = int(draw.integers(0, 30))
            score = draw.integers(0, 5, n).astype(draw.choice(["f4", "f8", "i4", "u1"]))
            positions = np.flatnonzero(draw.random(n) < 0.7).astype(np.int32)
            if draw.random() < 0.5:
                draw.shuffle(positions)
            k = int(draw.integers(0, 9))
            up = sorted(positions.tolist(), key=lambda p: (score[p], p))
            down = sorted(positions.tolist(), key=lambda p: (-float(score[p]), p))
            self.assertEqual(smallest(positions, score, k).tolist(), up[:k])
            self.assertEqual(largest(positions, score, k).tolist(), down[:k])
            self.assertEqual(ascending(positions, score).tolist(), up)
            self.assertEqual(descending(positions, score).tolist(), down)
            self.assertEqual(smallest(positions, score, k).dtype, np.int32)

    def test_scores_that_are_none(self):
        for positions, score, want in (([0, 1], [0.5, np.nan], "the score of position 1 is NaN"), ([0, 2], [0.5, 1], "have 2 entries and none for position 2"),
                                       ([-1], [0.5], "none for position -1"), ([True, False], [1.0, 2.0], "np.flatnonzero"), ([0.0], [1.0], "expected a list of whole numbers"),
                                       ([0], [[1.0]], "expected one number per position")):
            with self.subTest(want), self.assertRaisesRegex(PluginError, want):
                smallest(np.array(positions), np.array(score), 1)
        self.assertEqual(smallest([0, 1, 2], np.array([np.inf, -np.inf, np.inf]), 3).tolist(), [1, 0, 2])
        self.assertEqual(smallest([], np.array([]), 3).tolist(), [])

    def test_the_whole_batch_as_row_by_row(self):
        draw = np.random.default_rng(4)
        for _ in range(200):
            rows = []
            for _ in range(int(draw.integers(1, 6))):
                n = int(draw.integers(0, 9))
                rows.append(dict(n=n, entropy=draw.integers(0, 4, n) / 4 if draw.random() < 0.9 else np.full(n, np.inf), flags=draw.choice([0, 1, 2, 5], n)))
            s = step(*rows)
            k = draw.integers(0, 4, len(rows)) if draw.random() < 0.5 else int(draw.integers(0, 12))
            each = np.broadcast_to(k, len(rows))
            low, high = s.smallest(s.eligible, s.entropy, k), s.largest(s.eligible, s.entropy, k)
            self.assertEqual([d.as_dict().get("open", []) for d in s.open(low)], [smallest(r.eligible, r.entropy, n).tolist() for r, n in zip(s, each)])
            self.assertEqual([d.as_dict().get("open", []) for d in s.open(high)], [largest(r.eligible, r.entropy, n).tolist() for r, n in zip(s, each)])
            self.assertEqual(s.counts(low).tolist(), [len(smallest(r.eligible, r.entropy, n)) for r, n in zip(s, each)])
        with self.assertRaisesRegex(PluginError, "the score of position 1 of the batch is NaN"):
            s = step(dict(entropy=[0.0, np.nan]))
            s.smallest(s.eligible, s.entropy, 1)
