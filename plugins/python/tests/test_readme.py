"""The code in the README runs."""

import pathlib
import re
import textwrap
import unittest
from unittest import mock

import mdmhost_plugin
from mdmhost_plugin import Planner
from mdmhost_plugin.columns import COLUMNS
from mdmhost_plugin.decisions import Decision
from mdmhost_plugin.testing import plan, row

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()


class TestReadme(unittest.TestCase):
    def test_code(self):
        calm, state, batch, sampler, trainer, tests = re.findall(r"```python\n(.*?)```", README, re.S)
        names = {name: getattr(mdmhost_plugin, name) for name in mdmhost_plugin.__all__}
        served = []
        with mock.patch.object(mdmhost_plugin, "serve", served.append):
            exec(calm.replace("__main__", __name__), {"__name__": __name__, **names}, names)
            names["serve"] = served.append
            for code in (state, sampler, trainer, tests, "class Whole(Patient):\n" + batch):
                exec(textwrap.dedent(code), names)
        self.assertEqual([served[0].name, served[1].name], ["calm", "patient"])
        names["test_opens_the_calmest"]()
        rows = [row(entropy=[0.3, 0.1, 0.2], p1=[1, 1, 1]), row(entropy=[0.5], p1=[1])]
        for planner in (names["Patient"], names["Whole"]):
            self.assertTrue(issubclass(planner, Planner))
            self.assertEqual([d.as_dict() for d in plan(planner, *rows, options={"k": 1})], [{"open": [1]}, {"open": [0]}])
        self.assertEqual((names["steady"].kind, names["build"].name), ("sampler", "mine"))

    def test_it_names_everything(self):
        for name in (*COLUMNS, *(n for n in vars(Decision) if not n.startswith("_") and n not in ("as_dict", "metrics"))):
            self.assertIn(f"`{name}", README)
