"""Plugins as processes of their own, started by hand."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import grpc
import numpy as np

from mdmhost_plugin.v1 import link_pb2, plugin_pb2 as pb
from mdmhost_plugin.v1.plugin_pb2_grpc import PlannerStub

PLUGINS = pathlib.Path(__file__).parent / "plugins"
KIT = str(PLUGINS.parent.parent)
EXPLANATION = f"""planner calm 0.1.0: opens what the model is calm about

It is a plugin of mdmhost, which starts it:
  mdmhost sample --planner {PLUGINS}/calm.py
  mdmhost sample --planner {PLUGINS}/calm.py --set planner.k=4

options
  planner.k      integer from 1, default 4: positions opened in a step at most
  planner.limit  number from 0, default 0.5: entropy in nats above which a position waits; inf never waits

needs
  entropy(on=model)

arguments
  describe  prints all this as JSON
  --debug   serves until Ctrl-C, for a debugger, and prints the line by which mdmhost finds it
  --help    prints this
"""


def command(file, *args):
    return [sys.executable, "-B", str(PLUGINS / file), *args]


def run(file, *args, **env):
    return subprocess.run(command(file, *args), env={"PYTHONPATH": KIT, **env}, capture_output=True, text=True, timeout=60)


class TestByHand(unittest.TestCase):
    def test_it_explains_itself(self):
        for env in ({}, {"MDMHOST_PLUGIN": "another"}):
            p = run("calm.py", **env)
            self.assertEqual((p.returncode, p.stdout, p.stderr), (1, "", EXPLANATION))
        for asks in ("--help", "-h", "help"):
            p = run("calm.py", asks)
            self.assertEqual((p.returncode, p.stdout, p.stderr), (0, EXPLANATION, ""))
        p = run("calm.py", "--port", "3")
        self.assertEqual((p.returncode, p.stdout, p.stderr), (2, "", 'planner calm: unknown arguments ["--port" "3"]; expected describe, --debug or --help\n'))
        self.assertRegex(run("trainer.py").stderr, "\n  mdmhost train --trainer /.*/trainer.py --set trainer.scale=1\n")

    def test_it_names_the_program_that_starts_it(self):
        with tempfile.TemporaryDirectory() as folder:
            script, launcher = (pathlib.Path(folder, name) for name in ("my_planner.py", "my-planner"))
            script.write_text((PLUGINS / "calm.py").read_text())
            launcher.touch(0o755)
            self.assertIn(f"mdmhost sample --planner {launcher}\n", run(script).stderr)
            script.chmod(0o755)
            self.assertIn(f"mdmhost sample --planner {script}\n", run(script).stderr)

    def test_it_describes_itself(self):
        self.assertEqual(json.loads(run("planners.py", "raises", "describe").stdout)["needs"], [])
        d = json.loads(run("calm.py", "describe").stdout)
        self.assertEqual((d["kind"], d["name"], d["protocol"], d["needs"], d["options"]["properties"]["k"]["minimum"]), ("planner", "calm", 1, ["entropy(on=model)"], 1))

    def test_the_handshake_is_one_line(self):
        p = subprocess.Popen(command("planners.py", "greets"), env={"PYTHONPATH": KIT, "MDMHOST_PLUGIN": "9d2cbd5a4c1a4a2a-mdmhost"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = p.stdout.readline()
        p.send_signal(signal.SIGINT)  # a Ctrl-C is the host's
        p.send_signal(signal.SIGTERM)
        rest, logged = p.communicate(timeout=60)
        self.assertRegex(line, r"^1\|1\|unix\|/.*\.sock\|grpc\n$")
        self.assertEqual((rest, logged, p.returncode), ("", "Welcome to my planner!\n", 0))
        self.assertFalse(os.path.exists(line.split("|")[3]))


class TestDebug(unittest.TestCase):
    def test_hosts_come_and_go(self):
        p = subprocess.Popen(command("calm.py", "--debug"), env={"PYTHONPATH": KIT}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = p.stdout.readline()
        self.assertRegex(line, "^MDMHOST_REATTACH='.*'\n$")
        where = json.loads(line[len("MDMHOST_REATTACH='") : -2])["calm"]
        self.assertEqual((where["kind"], where["pid"], where["protocol"]), ("planner", p.pid, 1))
        for _ in range(2):
            with grpc.insecure_channel("unix:" + where["addr"]) as channel:
                stub = PlannerStub(channel)
                self.assertEqual(stub.Describe(pb.DescribeRequest()).name, "calm")
                stub.Start(pb.StartRequest(options=b'{"k": 1}'))
                step = pb.Step(index=[0], slot=[0], offset=[0], n=[2], blanks=[2], step=[0], steps=[2], t=[1], s=[0], alpha_t=[0], alpha_s=[1], token=bytes(8), flags=b"\5\5",
                               entropy=np.array([0.4, 0.1], "<f4").tobytes(), logits=pb.Logits(v=1, bytes=bytes(8)))
                self.assertEqual(list(stub.Plan(pb.PlanRequest(step=step)).decisions[0].open), [1])
                shutdown = channel.unary_unary("/plugin.GRPCController/Shutdown", lambda m: m.SerializeToString(), link_pb2.Empty.FromString)
                shutdown(link_pb2.Empty())
                health = channel.unary_unary("/grpc.health.v1.Health/Check", lambda m: m.SerializeToString(), link_pb2.HealthReply.FromString)
                self.assertEqual(health(link_pb2.HealthRequest(service="plugin")).status, 1)
                with self.assertRaises(grpc.RpcError) as raised:
                    health(link_pb2.HealthRequest(service="other"))
                self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)
        p.send_signal(signal.SIGINT)
        rest, logged = p.communicate(timeout=60)
        self.assertEqual((rest, p.returncode), ("", 0))
        self.assertRegex(logged, "^planner calm waits for a host until Ctrl-C")
        self.assertFalse(os.path.exists(os.path.dirname(where["addr"])))
