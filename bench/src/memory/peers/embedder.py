"""onnxruntime as a peer of the embedder, for as long as its input lasts: reads jobs, a JSON object a line, answers each with a line.

Usage: embedder.py MODEL_FOLDER THREADS
Job: {"texts": [...], "seconds": 1.0}; the texts are one batch. Answer: {"texts_per_s", "texts_per_cpu_s", "first"}: by the
clock, by the processor time of all threads, and the first text's vector.

The graph is made here of the same weights, in the operators onnxruntime's own optimizer makes of such a model (attention, the sum
with its normalisation, and the activation with its bias, each in one), so that it is as quick as it can be.
"""

import json
import os
import sys
import time

FOLDER, THREADS = sys.argv[1], int(sys.argv[2])
# Before the libraries are loaded: they ask once.
os.environ["OMP_NUM_THREADS"] = str(THREADS)
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy
import onnxruntime
import tokenizers
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, WINDOW = 6, 12, 384, 256
NORM = {"axis": -1, "epsilon": 1e-12}


def weights():
    """The tensors of the file: a length, a table in JSON, and the numbers."""
    with open(FOLDER + "/model.safetensors", "rb") as file:
        table = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        numbers = file.read()
    table.pop("__metadata__", None)
    found = {}
    for name, about in table.items():
        if about["dtype"] == "F32":
            begin, end = about["data_offsets"]
            found[name.removeprefix("bert.")] = numpy.frombuffer(numbers[begin:end], "<f4").reshape(about["shape"])
    return found


class Graph:
    """Nodes and their constants, as they are added."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, values):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(values), name))
        return name

    def node(self, kind, inputs, domain="", **settings):
        name = f"node_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **settings))
        return name

    def fused(self, kind, inputs, **settings):
        return self.node(kind, inputs, "com.microsoft", **settings)


def layer(graph, found, number, hidden):
    def of(part, what):
        return found[f"encoder.layer.{number}.{part}.{what}"]

    parts = [f"attention.self.{it}" for it in ("query", "key", "value")]
    joined = graph.constant(numpy.concatenate([of(part, "weight").T for part in parts], 1))
    bias = graph.constant(numpy.concatenate([of(part, "bias") for part in parts]))
    attended = graph.fused("Attention", [hidden, joined, bias, "mask"], num_heads=HEADS)

    def product(value, part):
        return graph.node("MatMul", [value, graph.constant(of(part, "weight").T)])

    def normal(value, before, dense, norm):
        constants = [of(norm, "weight"), of(norm, "bias"), of(dense, "bias")]
        inputs = [value, before, *map(graph.constant, constants)]
        return graph.fused("SkipLayerNormalization", inputs, epsilon=NORM["epsilon"])

    dense, norm = "attention.output.dense", "attention.output.LayerNorm"
    hidden = normal(product(attended, dense), hidden, dense, norm)
    wide = product(hidden, "intermediate.dense")
    wide = graph.fused("BiasGelu", [wide, graph.constant(of("intermediate.dense", "bias"))])
    return normal(product(wide, "output.dense"), hidden, "output.dense", "output.LayerNorm")


def model():
    found, graph = weights(), Graph()
    # Every token is of the first kind, and a text begins at place 0.
    words = found["embeddings.word_embeddings.weight"] + found["embeddings.token_type_embeddings.weight"][0]
    words = graph.node("Gather", [graph.constant(words), "ids"])
    places = graph.node("Gather", [graph.constant(found["embeddings.position_embeddings.weight"]), "places"])
    norm = [graph.constant(found[f"embeddings.LayerNorm.{it}"]) for it in ("weight", "bias")]
    hidden = graph.node("LayerNormalization", [graph.node("Add", [words, places]), *norm], **NORM)
    for number in range(LAYERS):
        hidden = layer(graph, found, number, hidden)
    graph.nodes[-1].output[0] = "hidden"
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"]),
        helper.make_tensor_value_info("mask", TensorProto.INT32, ["texts", "tokens"]),
        helper.make_tensor_value_info("places", TensorProto.INT64, ["tokens"]),
    ]
    outputs = [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["texts", "tokens", WIDTH])]
    made = helper.make_graph(graph.nodes, "minilm", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9).SerializeToString()


def embedder():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.BertWordPieceTokenizer(FOLDER + "/vocab.txt")
    tokenizer.enable_truncation(WINDOW)
    tokenizer.enable_padding()

    def embed(texts):
        encoded = tokenizer.encode_batch(texts)
        ids = numpy.array([it.ids for it in encoded], dtype=numpy.int64)
        mask = numpy.array([it.attention_mask for it in encoded], dtype=numpy.int32)
        hidden = session.run(None, {"ids": ids, "mask": mask, "places": numpy.arange(ids.shape[1])})[0]
        shares = mask[:, :, None].astype(numpy.float32)
        mean = (hidden * shares).sum(1) / shares.sum(1)
        return mean / numpy.linalg.norm(mean, axis=1, keepdims=True)

    return embed


def main():
    embed = embedder()
    embed(["warm up"])
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        first, count = embed(job["texts"])[0], 0
        clock, processor = time.perf_counter(), time.process_time()
        while time.perf_counter() - clock < job["seconds"]:
            embed(job["texts"])
            count += len(job["texts"])
        answer = {
            "texts_per_s": count / (time.perf_counter() - clock),
            "texts_per_cpu_s": count / (time.process_time() - processor),
            "first": [float(it) for it in first],
        }
        print(json.dumps(answer), flush=True)


main()
