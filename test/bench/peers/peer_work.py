"""What the peers in Python share: the work of a task, and the lines by which the bench asks for it."""

import json
import os
import subprocess
import sys

PRIME = 67108859
_kernel = None


def compute(task):
    """Gives the part of a task: [times, plus] of a chain, [primes] of a sieve."""
    if task["work"]["kind"] == "sieve":
        return _sieved(task)
    times, plus = 1, 0
    for index in range(task["from"], task["to"]):
        step = (2 * index + 3) % PRIME
        times, plus = times * step % PRIME, (plus * step + index) % PRIME
    return [times, plus]


def _sieved(task):
    """By the kernel that all peers have, in one Node process beside each worker."""
    global _kernel
    if _kernel is None:
        _kernel = subprocess.Popen(
            [os.environ["PEERS_NODE"], os.environ["PEERS_PROCESS"], "lines"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    _kernel.stdin.write(json.dumps(task) + "\n")
    _kernel.stdin.flush()
    return json.loads(_kernel.stdout.readline())


def answer_lines(compute_all):
    """Answers each line, a list of tasks, by a line with their parts in the same order."""
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(compute_all(json.loads(line))), flush=True)
