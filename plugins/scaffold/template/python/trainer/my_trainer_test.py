"""Tests of my-trainer: the graphs that it writes, without a model and a host."""

import unittest

import onnx
from mdmhost_plugin import Port, Signature, Task

from my_trainer import Options, build

# What the host would say of a model of 20 tokens, the last of which is the mask, that takes the time.
TASK = Task(v=20, mask_id=19, suppressed=(19,), denoiser=Signature(
    (Port("input_ids", 7, ("B", "L")), Port("timesteps", 1, ("B",))), (Port("logits", 1, ("B", "L", 20)),)))


class TestBuild(unittest.TestCase):
    def test_graphs(self):
        graphs = build(TASK, Options(power=2))
        for graph, want in (
            (graphs.training_graph, ["loss", "metric.nll.sum", "metric.nll.count"]),
            (graphs.eval_graph, ["bound", "count"]),
        ):
            onnx.checker.check_model(graph)
            self.assertEqual([o.name for o in graph.graph.output], want)
            (network,) = [n for n in graph.graph.node if n.op_type == "Network"]
            given = {a.name: onnx.helper.get_attribute_value(a) for a in network.attribute}["inputs"]
            self.assertEqual(given, [b"input_ids", b"timesteps"])

    def test_inputs_are_declared(self):
        graphs = build(TASK, Options())
        declared = {i.name for i in graphs.inputs}
        for graph in (graphs.training_graph, graphs.eval_graph):
            self.assertLessEqual({i.name for i in graph.graph.input}, declared)


if __name__ == "__main__":
    unittest.main()
