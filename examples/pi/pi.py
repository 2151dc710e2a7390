"""The program of pi-python.ts: the same midpoint sums as in pi.ts, with the same bits."""

import leasefold
from leasefold import Chunk, Context, Files

TERMS_PER_CHUNK = 50_000


def plan(params: dict, files: Files) -> int:
    return -(-params["terms"] // TERMS_PER_CHUNK)


def compute(chunk: Chunk) -> dict:
    terms = chunk.params["terms"]
    begin = chunk.index * TERMS_PER_CHUNK
    end = min(begin + TERMS_PER_CHUNK, terms)
    total = 0.0
    for term in range(begin, end):
        x = (term + 0.5) / terms
        total += 4 / (1 + x * x)
    return {"sum": total, "terms": end - begin}


def merge(a: dict, b: dict, params: dict) -> dict:
    return {"sum": a["sum"] + b["sum"], "terms": a["terms"] + b["terms"]}


def zero(params: dict) -> dict:
    return {"sum": 0, "terms": 0}


def finish(part: dict, context: Context) -> dict:
    return {"pi": part["sum"] / context.params["terms"], "terms": part["terms"]}


leasefold.serve(plan=plan, compute=compute, merge=merge, zero=zero, finish=finish)
