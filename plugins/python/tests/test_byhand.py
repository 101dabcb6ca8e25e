import unittest
from dataclasses import dataclass

from mdmhost_plugin import option, planner
from mdmhost_plugin.byhand import explanation


class TestExplanation(unittest.TestCase):
    def test_options_read_as_those_of_the_go_kit(self):
        @dataclass
        class Settings:
            proxy: str = option("entropy", enum=["entropy", "margin"])
            k: int = option(2, min=1, max=64, help="positions opened in a step")
            most: float = option(0.5, max=1e6)
            cap: float = option(float("inf"))
            gamma: float = option(0.1, min=0)
            strict: bool = option(True)

        @planner("calm", options=Settings)
        def calm(row, o):
            return row.nothing()

        text = explanation(calm, "calm.py")
        self.assertIn("""
options
  planner.cap     number, default "inf"
  planner.gamma   number from 0, default 0.1
  planner.k       integer from 1 to 64, default 2: positions opened in a step
  planner.most    number up to 1e+06, default 0.5
  planner.proxy   one of entropy, margin, default "entropy"
  planner.strict  boolean, default true

arguments
""", text)
        self.assertTrue(text.startswith("planner calm 0.0.0\n\nIt is a plugin of mdmhost, which starts it:\n  mdmhost sample --planner ./calm.py\n"
                                        "  mdmhost sample --planner ./calm.py --set planner.cap=inf\n"))

    def test_examples_are_quoted_for_a_shell(self):
        for default, want in (("", "VALUE"), ("a b", "'a b'"), ("*", "'*'"), ("plain", "plain")):
            @dataclass
            class Words:
                word: str = option(default)

            @planner("words", options=Words)
            def words(row, o):
                return row.nothing()

            self.assertIn(f"--set planner.word={want}\n", explanation(words, "/w.py"))

    def test_without_options_or_needs(self):
        @planner("bare")
        def bare(row):
            return row.nothing()

        self.assertRegex(explanation(bare, "/b.py"), r"^planner bare 0\.0\.0\n\nIt is .*:\n  mdmhost sample --planner /b\.py\n\narguments\n  describe  prints")
