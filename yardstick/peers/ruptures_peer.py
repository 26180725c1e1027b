"""What the library ruptures says of series, and how long it takes.

Reads one JSON object a line from stdin:
    {"name": ..., "values": [...], "penalty": ..., "min_size": ..., "methods": ["pelt", "binseg", "kernel"]}
and prints one JSON object a line for each method:
    {"name": ..., "method": ..., "change_points": [...], "seconds": ...}
Change points are the samples at which regimes begin, without the first. Only time spent in the library counts.
"""

import json
import sys
import time

import numpy
import ruptures


def searches(min_size):
    return {
        "pelt": lambda: ruptures.Pelt(model="l2", min_size=min_size, jump=1),
        "binseg": lambda: ruptures.Binseg(model="l2", min_size=min_size, jump=1),
        "kernel": lambda: ruptures.KernelCPD(kernel="linear", min_size=min_size),
    }


def main():
    for line in sys.stdin:
        if not line.strip():
            continue
        task = json.loads(line)
        values = numpy.array(task["values"], dtype=float)
        made = searches(task.get("min_size", 2))
        for method in task.get("methods", ["pelt", "binseg", "kernel"]):
            search = made[method]()
            begun = time.perf_counter()
            ends = search.fit(values).predict(pen=task["penalty"])
            seconds = time.perf_counter() - begun
            answer = {"name": task.get("name"), "method": method, "change_points": [int(end) for end in ends[:-1]], "seconds": seconds}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
