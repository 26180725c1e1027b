"""A peer of the embedder, for as long as its input lasts: reads jobs, a JSON object a line, and answers each with a line.

Usage: peer.py torch|onnxruntime MODEL_FOLDER THREADS
Job: {"texts": [...], "seconds": 1.0}; the texts are one batch. Answer: {"texts_per_s", "texts_per_cpu_s", "first"}: by the
clock, by the processor time of all threads, and the first text's vector.
Needs sentence-transformers and torch, or onnxruntime, onnx and torch for making the graph once beside the script's cache.
"""

import json
import os
import sys
import time

WHO, FOLDER, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
# Before the libraries are loaded: they ask once.
os.environ["OMP_NUM_THREADS"] = str(THREADS)
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def torch_embedder():
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(FOLDER, device="cpu")
    model.max_seq_length = 256
    return lambda texts: model.encode(
        texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
    )


def onnx_embedder():
    import numpy
    import onnxruntime
    import tokenizers

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(graph(), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(FOLDER + "/tokenizer.json")
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def embed(texts):
        encoded = tokenizer.encode_batch(texts)
        ids = numpy.array([it.ids for it in encoded], dtype=numpy.int64)
        mask = numpy.array([it.attention_mask for it in encoded], dtype=numpy.int64)
        hidden = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        weights = mask[:, :, None].astype(numpy.float32)
        pooled = (hidden * weights).sum(1) / weights.sum(1)
        return pooled / numpy.linalg.norm(pooled, axis=1, keepdims=True)

    return embed


def graph():
    """The model as a graph with its layers fused, made once."""
    cache = os.environ.get("PEER_CACHE", ".")
    fused = os.path.join(cache, "minilm-fused.onnx")
    if not os.path.exists(fused):
        import torch
        from onnxruntime.transformers import optimizer
        from transformers import AutoModel

        class Hidden(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = AutoModel.from_pretrained(FOLDER, attn_implementation="eager").eval()

            def forward(self, ids, mask):
                return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

        plain = os.path.join(cache, "minilm.onnx")
        ids = torch.ones(2, 8, dtype=torch.int64)
        axes = {name: {0: "batch", 1: "tokens"} for name in ("input_ids", "attention_mask", "hidden")}
        torch.onnx.export(
            Hidden(), (ids, ids), plain, input_names=["input_ids", "attention_mask"], output_names=["hidden"],
            dynamic_axes=axes, opset_version=17, dynamo=False,
        )
        optimizer.optimize_model(plain, model_type="bert", num_heads=12, hidden_size=384).save_model_to_file(fused)
    return fused


def main():
    embed = {"torch": torch_embedder, "onnxruntime": onnx_embedder}[WHO]()
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
