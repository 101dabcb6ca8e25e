"""The graph in OpenVINO, in single precision: left to itself, OpenVINO computes in bfloat16 where the processor can."""
import numpy as np
import openvino

STACK = f"OpenVINO {openvino.__version__.split('-')[0]}"


def load(path, device="cpu"):
    """run(feeds), which gives the outputs by name, and the shapes of the inputs by name, with None for sizes that are not fixed."""
    model = openvino.Core().compile_model(path, device.upper(), {"INFERENCE_PRECISION_HINT": "f32"})
    inputs = {i.any_name: [n.get_length() if n.is_static else None for n in i.partial_shape] for i in model.inputs}

    def run(feeds):
        got = model(feeds)
        return {o.any_name: np.array(got[o]) for o in model.outputs}

    return run, inputs
