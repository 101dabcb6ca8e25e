"""The graph in ONNX Runtime, on the CPU."""
import onnxruntime

STACK = f"onnxruntime {onnxruntime.__version__} in Python"


def load(path):
    """run(feeds), which gives the outputs by name, and the shapes of the inputs by name, with None for sizes that are not fixed."""
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    inputs = {i.name: [n if isinstance(n, int) else None for n in i.shape] for i in session.get_inputs()}
    return lambda feeds: dict(zip(names, session.run(names, feeds))), inputs
