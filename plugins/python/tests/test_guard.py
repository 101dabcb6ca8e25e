import asyncio
import unittest
from unittest import mock

from mdmhost_plugin import PluginError, smallest
from mdmhost_plugin.guard import Guard
from mdmhost_plugin.testing import row
from mdmhost_plugin.v1 import link_pb2, plugin_pb2 as pb


class Aborted(Exception):
    pass


def answer(act):
    """What the host gets of a call in which an author's code does something."""
    context = mock.Mock()
    context.abort.side_effect = Aborted
    guard = Guard("planner calm")
    with mock.patch.object(guard, "_log"):
        try:
            guard("Plan", lambda request, context: act())(None, context)
        except Aborted:
            pass
    ((((_, raw),),), _) = context.set_trailing_metadata.call_args
    context.abort.assert_called_once()
    assert guard.idle(0)
    return pb.Error.FromString(link_pb2.Status.FromString(raw).details[0].value)


def raising(e):
    def raises():
        raise e

    return raises


class TestGuard(unittest.TestCase):
    def test_every_exception_is_answered(self):
        for e, name in ((KeyError("x"), "KeyError: 'x'"), (KeyboardInterrupt(), "KeyboardInterrupt"), (GeneratorExit("no"), "GeneratorExit: no"),
                        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError")):
            got = answer(raising(e))
            self.assertEqual((got.code, got.object), ("INTERNAL", "planner calm"))
            self.assertRegex(got.problem, rf"^exception in the plugin: {name} \(test_guard\.py:\d+ in raises\)$")

    def test_what_the_kit_finds_has_the_authors_line(self):
        r = row(n=3)

        def opens():
            return r.open([-1])

        def orders():
            return smallest([7], [0.5], 1)

        def reads():
            return r.entropy

        for act, problem in ((opens, "open -1, expected a position from 0 to 2"), (orders, "the scores have 1 entries and none for position 7; a score is indexed by position"),
                             (reads, "entropy did not come: the plugin's needs do not declare it")):
            got = answer(act)
            self.assertEqual((got.code, got.problem), ("CONTRACT_VIOLATION", f"{problem} (test_guard.py:{act.__code__.co_firstlineno + 1} in {act.__name__})"))

    def test_what_the_author_raises_is_left_as_it_is(self):
        got = answer(raising(PluginError("EXHAUSTED", "no more quota", "ask for more")))
        self.assertEqual((got.code, got.object, got.problem, got.hint), ("EXHAUSTED", "planner calm", "no more quota", "ask for more"))
