"""The graph in ONNX Runtime."""
import onnxruntime

STACK = f"onnxruntime {onnxruntime.__version__} in Python"


def load(path, device="cpu"):
    """run(feeds), which gives the outputs by name, and the shapes of the inputs by name, with None for sizes that are not fixed."""
    onnxruntime.set_default_logger_severity(3)
    provider = f"{device.upper()}ExecutionProvider"
    if provider not in (known := onnxruntime.get_available_providers()):
        raise SystemExit(f"device {device}: onnxruntime {onnxruntime.__version__} here has {', '.join(known)}, not {provider}; take one of those, or install its build")
    session = onnxruntime.InferenceSession(path, providers=[provider])
    names = [o.name for o in session.get_outputs()]
    inputs = {i.name: [n if isinstance(n, int) else None for n in i.shape] for i in session.get_inputs()}
    return lambda feeds: dict(zip(names, session.run(names, feeds))), inputs
