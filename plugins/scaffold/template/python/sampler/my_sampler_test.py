"""Tests of my-sampler: the steps that it takes, without a model and a host."""

import unittest
from types import SimpleNamespace

from my_sampler import Options, step


class TestStep(unittest.TestCase):
    def test_steps_are_a_chain(self):
        for power in (0.1, 1, 2.5, 10):
            at = 1.0
            for i in range(7):
                a = step(SimpleNamespace(slot=3, step=i, steps=7, next_t=0), Options(power=power))
                self.assertEqual((a.slot, a.t, a.alpha_t, a.alpha_s), (3, at, 1 - a.t, 1 - a.s))
                self.assertLess(a.s, a.t)
                at = a.s
            self.assertEqual(at, 0)

    def test_a_planners_time_begins_the_step(self):
        a = step(SimpleNamespace(slot=0, step=1, steps=4, next_t=0.875), Options(power=1))
        self.assertEqual((a.t, a.s), (0.875, 0.625))


if __name__ == "__main__":
    unittest.main()
