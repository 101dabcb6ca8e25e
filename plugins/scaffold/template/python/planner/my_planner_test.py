"""Tests of my-planner, with rows made by hand: no model, no host."""

import unittest

from mdmhost_plugin.testing import plan as ask
from mdmhost_plugin.testing import row

from my_planner import plan


class TestPlan(unittest.TestCase):
    def opened(self, **options):
        (decision,) = ask(plan, row(p1=[0.8, 0.0, 0.9, 0.2, 0.75], fixed=[1]), options=options)
        return decision.as_dict()["open"]

    def test_opens_the_surest_first(self):
        self.assertEqual(self.opened(k=2, sure=0.7), [2, 0])
        self.assertEqual(self.opened(k=9, sure=0.7), [2, 0, 4])

    def test_opens_one_at_least(self):
        self.assertEqual(self.opened(k=9, sure=0.95), [2])

    def test_refuses_options_out_of_range(self):
        with self.assertRaisesRegex(Exception, "option k: "):
            self.opened(k=0)


if __name__ == "__main__":
    unittest.main()
