import unittest

import grpc

from mdmhost_plugin import Advance, Decision, PluginError, RowState, Task, by_masks, drive
from mdmhost_plugin.errors import Cancelled
from mdmhost_plugin.guard import details
from mdmhost_plugin.needs import Needs
from mdmhost_plugin.session import Session
from mdmhost_plugin.task import Port, Signature
from mdmhost_plugin.v1 import plugin_pb2 as pb


def state(slot, masked, done=False):
    return RowState(slot, 10 + slot, 4 - masked, 4, 4, masked, 6, done, 0.0, 0)


class Host:
    """Two slots for three rows of two and three masks each; every step opens one."""

    def __init__(self):
        self.waiting, self.rows, self.emitted = [2, 3, 2], {}, []

    def admit(self):
        fresh = []
        while self.waiting and len(self.rows) < 2:
            slot = next(s for s in (0, 1) if s not in self.rows)
            self.rows[slot] = self.waiting.pop(0)
            fresh.append(state(slot, self.rows[slot]))
        return fresh

    def advance(self, rows):
        out = []
        for a in rows:
            self.rows[a.slot] -= 1
            out.append(state(a.slot, self.rows[a.slot], self.rows[a.slot] == 0))
        return out

    def emit(self, slots):
        for s in slots:
            assert self.rows.pop(s) == 0
            self.emitted.append(s)


class Failed(grpc.RpcError):
    def __init__(self, code, metadata=()):
        self.code, self.details, self.trailing_metadata = lambda: code, lambda: "why", lambda: metadata


class Stub:
    """Notes what is asked and answers with the next of the given answers."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __getattr__(self, name):
        def call(request):
            self.asked.append(request)
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def a_step(n):
    return pb.Step(index=[7], slot=[1], offset=[0], n=[n], blanks=[n], step=[0], steps=[4], t=[1], s=[0], alpha_t=[0], alpha_s=[1], token=bytes(4 * n), flags=b"\5" * n)


class TestSession(unittest.TestCase):
    def test_drive(self):
        host = Host()
        drive(host, lambda active: host.advance([by_masks(r) for r in active]))
        self.assertEqual((host.rows, host.waiting, sorted(host.emitted)), ({}, [], [0, 0, 1]))

    def test_by_masks(self):
        self.assertEqual(by_masks(state(1, 2)), Advance(1, 0.5, 0.25, 0.5, 0.75))
        self.assertEqual(by_masks(state(1, 0)), Advance(1, 0, 0, 1, 1))

    def test_messages(self):
        stub = Stub(a_step(2), a_step(2), pb.PlanReply(decisions=[pb.Decision(open=[1], overwrite_position=[0], overwrite_token=[5], fill=2, go_on=True, metrics={"a": 1})]),
                    pb.RowStates(rows=[pb.RowState(slot=1, masked=1)]), pb.EmitReply())
        session = Session(stub, Needs(), None)
        first = session.denoise([Advance(1, 1, 0.5, 0, 0.5)])
        session.denoise([Advance(1, 1, 0.5, 0, 0.5, ahead=[(0.25, 0.75), (0, 1)], trial=[(3, 9)])])  # decisions belong to the first
        self.assertEqual(stub.asked[1].rows[0], pb.Advance(slot=1, t=1, s=0.5, alpha_s=0.5, ahead=[0.25, 0.75, 0, 1], trial_position=[3], trial_token=[9]))
        planned = session.plan()
        self.assertEqual([d.as_dict() for d in planned], [{"open": [1], "overwrite": {0: 5}, "fill": "draw", "go_on": True, "metrics": {"a": 1.0}}])
        self.assertEqual(session.apply([first[0].open(0)])[0].masked, 1)
        self.assertEqual(list(stub.asked[3].decisions[0].open), [0])
        session.emit([1])
        with self.assertRaisesRegex(PluginError, "open 2, expected a position from 0 to 1"):
            session.apply([Decision().open(2)])

    def test_errors_of_the_host(self):
        refused = PluginError("CRASHED", "it is gone", "start it", "planner x")
        stub = Stub(Failed(grpc.StatusCode.UNAVAILABLE, (("grpc-status-details-bin", details(refused)),)), Failed(grpc.StatusCode.CANCELLED), Failed(grpc.StatusCode.UNAVAILABLE))
        session = Session(stub, Needs(), None)
        with self.assertRaises(PluginError) as raised:
            session.admit()
        self.assertEqual(str(raised.exception), str(refused))
        with self.assertRaises(Cancelled):
            session.admit()
        with self.assertRaisesRegex(PluginError, "host: INTERNAL: the session ended: unavailable: why"):
            session.admit()


class TestTask(unittest.TestCase):
    def test_inputs(self):
        port = pb.Port(name="input_ids", type=7, shape=["B", "16", ""])
        task = Task.of(pb.BuildRequest(options=b"{}", v=9, mask_id=8, pad_id=-1, suppressed=[8], length=16, opset=20, denoiser=pb.Signature(inputs=[port])))
        self.assertEqual((task.B, task.L, task.denoiser), ("B", 16, Signature((Port("input_ids", 7, ("B", 16, "")),), ())))
        self.assertTrue(task.denoiser.takes("input_ids"))
        for given, want in ((task.tokens(), ("tokens", "tokens", ("B", 16), 7)), (task.free(), ("free", "free", ("B", 16), 9)), (task.lengths(), ("lengths", "lengths", ("B",), 7)),
                            (task.progress(), ("progress", "progress", (), 1)), (task.uniform("u", "B", "L", 2), ("u", "uniform", ("B", 16, 2), 1)),
                            (task.time("iid", 0.1), ("time", "time", ("B", 1), 1))):
            self.assertEqual((given.name, given.kind, given.shape, given.type), want)
        for wrong in (lambda: task.uniform("u", "B", "V"), lambda: task.input("noise")):
            with self.assertRaises(ValueError):
                wrong()
