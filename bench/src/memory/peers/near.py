"""hnswlib as a peer of the vector index, and numpy as the judge, for as long as the input lasts: a job and an answer a line, in JSON.

Usage: near.py
{"do": "truth", "base", "queries", "into"}: writes the ten nearest of each query, found by looking through all vectors.
{"do": "build", "base", "into", "links", "effort", "threads"}: makes an index of the vectors and keeps it. Answer: {"seconds"}.
{"do": "load", "index"}. Answer: {"seconds"}.
{"do": "resident"}. Answer: {"resident_mib"}: by how much the process grew since before it loaded.
{"do": "ask", "queries", "truth", "width"}: asks all queries, in one call and one thread, the ten nearest of each. Answer: {"per_s", "recall"}.
Vectors are rows of 384 little-endian floats, of length one; truth is rows of ten 32-bit numbers.
"""

import json
import sys
import time

import hnswlib
import numpy

WIDTH, LIMIT = 384, 10
# Vectors the judge looks through at once: some hundred megabytes of products.
PART = 25_000


def vectors(path):
    return numpy.memmap(path, dtype="<f4", mode="r").reshape(-1, WIDTH)


def resident_mib():
    with open("/proc/self/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssFile"))) / 1024


def best(scores, numbers):
    order = numpy.argsort(-scores, axis=1, kind="stable")[:, :LIMIT]
    return numpy.take_along_axis(scores, order, 1), numpy.take_along_axis(numbers, order, 1)


def truth(job):
    base, queries = vectors(job["base"]), numpy.array(vectors(job["queries"]))
    scores = numpy.empty((len(queries), 0), dtype="<f4")
    numbers = numpy.empty((len(queries), 0), dtype="<u4")
    for begin in range(0, len(base), PART):
        found = queries @ numpy.array(base[begin : begin + PART]).T
        few = numpy.argpartition(-found, min(LIMIT, found.shape[1] - 1), axis=1)[:, : LIMIT + 1]
        scores = numpy.concatenate([scores, numpy.take_along_axis(found, few, 1)], 1)
        numbers = numpy.concatenate([numbers, (few + begin).astype("<u4")], 1)
        scores, numbers = best(scores, numbers)
    numbers.tofile(job["into"])
    return {}


def build(job):
    base, began = vectors(job["base"]), time.perf_counter()
    index = hnswlib.Index(space="ip", dim=WIDTH)
    index.init_index(max_elements=len(base), M=job["links"], ef_construction=job["effort"])
    for begin in range(0, len(base), PART):
        index.add_items(numpy.array(base[begin : begin + PART]), num_threads=job["threads"])
    index.save_index(job["into"])
    return {"seconds": time.perf_counter() - began}


class Asked:
    """The index that is asked."""

    def __init__(self):
        self.index, self.before = None, 0.0

    def load(self, job):
        self.before, began = resident_mib(), time.perf_counter()
        self.index = hnswlib.Index(space="ip", dim=WIDTH)
        self.index.load_index(job["index"])
        return {"seconds": time.perf_counter() - began}

    def resident(self, _):
        return {"resident_mib": resident_mib() - self.before}

    def ask(self, job):
        queries = numpy.array(vectors(job["queries"]))
        nearest = numpy.fromfile(job["truth"], dtype="<u4").reshape(-1, LIMIT)
        self.index.set_ef(job["width"])
        began = time.perf_counter()
        found, _ = self.index.knn_query(queries, k=LIMIT, num_threads=1)
        took = time.perf_counter() - began
        right = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), nearest.tolist(), strict=True))
        return {"per_s": len(queries) / took, "recall": right / nearest.size}


def main():
    asked = Asked()
    does = {"truth": truth, "build": build, "load": asked.load, "resident": asked.resident, "ask": asked.ask}
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(does[job["do"]](job)), flush=True)


main()
