"""The program of the calculation STARTING-NAME. It works; replace it with your own, part by part.

Each worker thread has one such process, so what a function keeps in a variable is there for the next chunk. What is printed is
shown by `leasefold logs`. `import leasefold` finds the module of the package; for your editor, copy it beside this file from
node_modules/leasefold/python.
"""

import leasefold

# A chunk should take 1 to 1,000 ms: `leasefold check` shows the time of yours.
NUMBERS_PER_CHUNK = 5_000


def plan(params, files):
    """The number of chunks, or a list of one input per chunk. To process files: `return files.list("leasefold-inputs/")`."""
    return -(-(params["below"] - 1) // NUMBERS_PER_CHUNK)


def compute(chunk):
    """One chunk's partial, as JSON. It may run several times, in any order, on any machine: use no clock and no random numbers
    but those of a seed that is made of the parameters and `chunk.index`."""
    first = 1 + chunk.index * NUMBERS_PER_CHUNK
    end = min(first + NUMBERS_PER_CHUNK, chunk.params["below"])
    longest = max(range(first, end), key=steps_from)
    return {"start": longest, "steps": steps_from(longest)}


def merge(a, b, params):
    """Folds two neighbors, `a` before `b`. A tie goes to the smaller number, which is that of `a`."""
    return b if b["steps"] > a["steps"] else a


def zero(params):
    """The partial of a run of no chunks. It is never merged."""
    return {"start": 0, "steps": -1}


def finish(part, context):
    """Makes the result: JSON, or `leasefold.Result(body, "text/csv", "csv")`. Without it the partial is the result."""
    return {"below": context.params["below"], **part}


def steps_from(start):
    steps = 0
    n = start
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


leasefold.serve(plan=plan, compute=compute, merge=merge, zero=zero, finish=finish)
