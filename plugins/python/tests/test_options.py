"""Options: the same texts as plugins/sdk/options, where the same table stands."""

import math
import random
import unittest
from dataclasses import dataclass

from mdmhost_plugin import option
from mdmhost_plugin.numbers import Mistake, shown
from mdmhost_plugin.options import schema
from mdmhost_plugin.parse import parse


@dataclass
class Settings:
    k: int = option(2, min=1, max=64, help="positions opened in a step")
    small: int = option()
    gamma: float = option(0.1, min=0)
    cap: float = option(math.inf)
    proxy: str = option("entropy", enum=["entropy", "margin"])
    strict: bool = option(True)


GIVEN = {
    "{}": {}, "": {}, "null": {}, " ": {},
    '{"k": 8, "strict": false}': {"k": 8, "strict": False},
    '{"k": 8.0, "gamma": 1e-3}': {"k": 8, "gamma": 1e-3},
    '{"k": 1e1}': {"k": 10},
    '{"small": 9223372036854775807}': {"small": 2**63 - 1},
    '{"gamma": "inf"}': {"gamma": math.inf},
    '{"gamma": "0.25"}': {"gamma": 0.25},
    '{"proxy": "mar\\u0067in"}': {"proxy": "margin"},
    '{"k": 1, "k": 3}': {"k": 3},
    '{"k": 0}': "option k: expected a whole number from 1 to 64, found 0",
    '{"k": 65}': "option k: expected a whole number from 1 to 64, found 65",
    '{"k": 1.5}': "option k: expected a whole number from 1 to 64, found 1.5",
    '{"k": "2"}': 'option k: expected a whole number from 1 to 64, found "2"',
    '{"k": null}': "option k: expected a whole number from 1 to 64, found null",
    '{"k": [1, {"a": 2}]}': 'option k: expected a whole number from 1 to 64, found [1, {"a": 2}]',
    '{"small": 1e400}': "option small: expected a whole number, found 1e400",
    '{"small": 9223372036854775808}': "option small: expected a whole number, found 9223372036854775808",
    '{"gamma": "-inf"}': "option gamma: expected a number of at least 0, found -Inf",
    '{"gamma": "NaN"}': 'option gamma: expected a number of at least 0, found "NaN"',
    '{"gamma": "1_0"}': 'option gamma: expected a number of at least 0, found "1_0"',
    '{"gamma": 1e400}': 'option gamma: expected a number of at least 0, found "1e400"',
    '{"proxy": "entropi"}': 'option proxy: expected one of entropy, margin, found "entropi"; did you mean entropy?',
    '{"proxy": "surprise"}': 'option proxy: expected one of entropy, margin, found "surprise"',
    '{"strict": 1}': "option strict: expected true or false, found 1",
    '{"gama": 1, "k": -1}': "option k: expected a whole number from 1 to 64, found -1; option gama: unknown; did you mean gamma?",
    '{"whatever": 1}': "option whatever: unknown; the options are k, small, gamma, cap, proxy, strict",
    "{} {}": "options: expected one JSON object and nothing after it",
}


class TestParse(unittest.TestCase):
    def test_table(self):
        for given, want in GIVEN.items():
            with self.subTest(given):
                if isinstance(want, dict):
                    self.assertEqual(parse(Settings, given), Settings(**{"small": 0, **want}) if "small" not in want else Settings(**want))
                else:
                    with self.assertRaises(Mistake) as raised:
                        parse(Settings, given.encode())
                    self.assertEqual(str(raised.exception), want)

    def test_what_is_no_object(self):
        for given in ("[]", "{", "3", '"a"', "{k: 1}", '{"k" 1}', '{"k": 1 "a": 2}', '{"k": 1,}', '{1: 2}', '{"k": NaN}', "nul", b"\xff", "[" * 100000, '{"a":' * 100000):
            with self.subTest(given[:20]), self.assertRaisesRegex(Mistake, "^options: expected a JSON object: "):
                parse(Settings, given)

    def test_random_texts_are_options_or_told(self):
        draw = random.Random(5)
        for _ in range(3000):
            text = "".join(draw.choice('{}[]":, \\k1e.+-infgamatrulNA\u00fc') for _ in range(draw.randrange(14)))
            for given in (text, '{"k": %s}' % text, '{"gamma": "%s"}' % text):
                try:
                    o = parse(Settings, given)
                except Mistake:
                    continue
                self.assertTrue(1 <= o.k <= 64 and o.gamma >= 0, given)

    def test_inherited_options(self):
        @dataclass
        class More(Settings):
            last: float = option(0.5, name="lambda")

        self.assertEqual(parse(More, '{"k": 3, "lambda": 1}'), More(small=0, k=3, last=1.0))
        self.assertEqual(list(schema(More)["properties"]), ["k", "small", "gamma", "cap", "proxy", "strict", "lambda"])

    def test_without_options(self):
        self.assertIsNone(parse(None, b""))
        with self.assertRaisesRegex(Mistake, "option k: unknown; there are no options"):
            parse(None, '{"k": 1}')


class TestDefinition(unittest.TestCase):
    def test_schema(self):
        got = schema(Settings)["properties"]
        del got["gamma"]["pattern"], got["cap"]["pattern"]
        self.assertEqual(got, {
            "k": {"type": "integer", "default": 2, "minimum": 1, "maximum": 64, "description": "positions opened in a step"},
            "small": {"type": "integer", "default": 0}, "gamma": {"type": ["number", "string"], "default": 0.1, "minimum": 0},
            "cap": {"type": ["number", "string"], "default": "inf"}, "proxy": {"type": "string", "default": "entropy", "enum": ["entropy", "margin"]},
            "strict": {"type": "boolean", "default": True},
        })

    def test_mistakes(self):
        @dataclass
        class Low:
            k: int = option(0, min=1)

        @dataclass
        class Listed:
            k: list = option()

        @dataclass
        class Text:
            k: int = option("few")

        class Plain:
            k: int = 1

        for options, want in ((Low, "default: expected a whole number of at least 1, found 0"), (Listed, "expected the type bool, int, float or str, found list"),
                              (Text, "default: expected int, found 'few'"), (Plain, "expected a dataclass")):
            with self.subTest(want), self.assertRaisesRegex(TypeError, want):
                schema(options)

    def test_numbers_are_written_as_the_host_does(self):
        for want, x in {"0": 0, "1": 1, "0.5": 0.5, "100000": 1e5, "123456": 123456, "1e+06": 1e6, "1.234567e+06": 1234567, "1e-05": 1e-5, "0.0001": 1e-4,
                        "0.00012": 0.00012, "1.5e-07": 1.5e-7, "-3": -3, "1e+300": 1e300, "+Inf": math.inf, "-Inf": -math.inf, "5e-324": 5e-324}.items():
            self.assertEqual(shown(float(x)), want)
            self.assertEqual(float(shown(float(x)).replace("Inf", "inf")), x)
