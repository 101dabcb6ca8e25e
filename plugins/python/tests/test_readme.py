"""The code in the README runs."""

import pathlib
import re
import unittest
from unittest import mock

import mdmhost_plugin
from mdmhost_plugin.columns import COLUMNS
from mdmhost_plugin.decisions import Decision
from mdmhost_plugin.testing import plan, row

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()


class TestReadme(unittest.TestCase):
    def test_code(self):
        *whole, trainer, tests = re.findall(r"```python\n(.*?)```", README, re.S)
        names = {name: getattr(mdmhost_plugin, name) for name in mdmhost_plugin.__all__}
        served = []
        with mock.patch.object(mdmhost_plugin, "serve", served.append):
            for code in whole:  # ../readme_test.go holds them to the protocol
                here = {"__name__": __name__}
                exec(code.replace("__main__", __name__), here)
                names.update(here)
        for code in (trainer, tests):
            exec(code, names)
        self.assertEqual([(p.kind, p.name) for p in served], [("planner", "calm"), ("planner", "patient"), ("planner", "steady"), ("sampler", "pacer")])
        names["test_opens_the_calmest"]()
        rows = [row(entropy=[0.3, 0.1, 0.2], p1=[0.7, 0.8, 0.9]), row(entropy=[0.5], p1=[1])]
        for planner, options, want in ((served[1], {}, [1]), (served[1], {"by": "p1"}, [2]), (served[2], {}, [1])):
            self.assertEqual([d.as_dict() for d in plan(planner, *rows, options=options)], [{"open": want}, {"open": [0]}])
        self.assertEqual((names["build"].kind, names["build"].name), ("trainer", "mine"))

    def test_it_names_everything(self):
        for name in (*COLUMNS, *(n for n in vars(Decision) if not n.startswith("_") and n not in ("as_dict", "metrics"))):
            self.assertIn(f"`{name}", README)
