"""Serves ONNX exports of mdmhost with MLServer. Inputs and outputs are those of the graph; a request gets the outputs that it asks for."""

import asyncio
import os

import numpy
import onnxruntime
from mlserver import MLModel
from mlserver.errors import MLServerError
from mlserver.types import InferenceRequest, InferenceResponse, MetadataTensor, ResponseOutput
from mlserver.utils import get_model_uri

TYPES = {"tensor(int64)": ("INT64", numpy.int64), "tensor(float)": ("FP32", numpy.float32)}


class Export(MLModel):
    """A model directory that `mdmhost export --to onnx --head statistics` wrote. model-settings.json names it in parameters.uri."""

    async def load(self) -> bool:
        folder = await get_model_uri(self.settings)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("EXPORT_THREADS", "0"))  # 0: one per core
        providers = onnxruntime.get_available_providers()
        self.session = onnxruntime.InferenceSession(os.path.join(folder, "onnx", "model.onnx"), options, providers=providers)
        self.inputs = [describe(value) for value in self.session.get_inputs()]
        self.outputs = [describe(value) for value in self.session.get_outputs()]
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        types = {value.name: TYPES[value.type][1] for value in self.session.get_inputs()}
        for tensor in payload.inputs:
            if tensor.name not in types:
                raise MLServerError(f"input {tensor.name}: the graph takes {', '.join(types)}")
        feeds = {t.name: numpy.asarray(t.data.root, types[t.name]).reshape(t.shape) for t in payload.inputs}
        names = [output.name for output in payload.outputs or []] or [value.name for value in self.session.get_outputs()]
        results = await asyncio.to_thread(self.session.run, names, feeds)
        outputs = [
            ResponseOutput(name=name, datatype="INT64" if x.dtype == numpy.int64 else "FP32", shape=list(x.shape), data=x.ravel().tolist())
            for name, x in zip(names, results)
        ]
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=outputs)


def describe(value) -> MetadataTensor:
    """A value of the graph in the protocol's words: dimensions without a number are -1."""
    shape = [size if isinstance(size, int) else -1 for size in value.shape]
    return MetadataTensor(name=value.name, datatype=TYPES[value.type][0], shape=shape)
