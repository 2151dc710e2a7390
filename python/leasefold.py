"""A calculation of Leasefold in Python: `leasefold.serve(plan=…, compute=…, merge=…, zero=…)` answers the requests of a worker.

What a function gets has crossed as JSON: lists, dicts with text keys, text, numbers, booleans and None. A number is a
double: -0.0 arrives as 0. NaN, infinity and an integer beyond 2**53 - 1 are refused; text can carry them.
A partial may be `bytes` where the definition says `parts: "bytes"`. What is printed becomes lines of `leasefold logs`.

With `serve(concurrency=32, …)` so many calls run at the same time, each in a thread: for functions that wait. `concurrency`
in the definition says how many chunks there are to compute.

The process ends when its input does, even while a function runs. Not promised: that for native code which never gives
up the interpreter's lock; the worker kills that at the time limit.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import sys
import sysconfig
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Iterable, Optional, Sequence, Union

Message = tuple[dict[str, Any], list[bytes]]
Part = Any
_exact = 2**53 - 1


@dataclass(frozen=True)
class Result:
    """A result that is no JSON."""

    body: bytes
    content_type: str
    """Such as `text/csv; charset=utf-8`."""
    extension: str
    """Without the dot, such as `csv`."""
    notes: Sequence[str] = ()


class Files:
    """The blobs that a calculation may read. Both calls raise `OSError` for what cannot be read."""

    def __init__(self, ask: Callable[[dict[str, Any]], Message]) -> None:
        self._ask = ask

    def list(self, source: str) -> list[dict[str, Any]]:
        """The files whose path begins with `source`: dicts with `path`, `bytes` and `etag`, by name."""
        return self._ask({"ask": "list", "source": source})[0]["files"]

    def read(self, file: dict[str, Any], start: int = 0, end: Optional[int] = None) -> bytes:
        """Bytes `[start, end)` of a listed file, by default all."""
        return self._ask({"ask": "read", "file": file, "from": start, "to": end})[1][0]


@dataclass(frozen=True)
class Chunk:
    index: int
    count: int
    input: Any
    """What `plan` listed at this index; None if it gave a count."""
    params: dict[str, Any]
    files: Files


@dataclass(frozen=True)
class Context:
    params: dict[str, Any]
    folded: int
    """Chunks folded, of `count`."""
    count: int


def serve(
    *,
    plan: Callable[[dict[str, Any], Files], Union[int, Iterable[Any]]],
    compute: Callable[[Chunk], Part],
    merge: Callable[[Part, Part, dict[str, Any]], Part],
    zero: Callable[[dict[str, Any]], Part],
    finish: Optional[Callable[[Part, Context], Any]] = None,
    concurrency: int = 1,
) -> None:
    """Answers requests until the input ends; in a child of `multiprocessing` it does nothing.

    Without `finish` the folded partial is the result. Above 1 the functions are called in threads, so many at the same time.
    """
    if _is_child():
        return
    requests, out = _pipes()
    sending = threading.Lock()
    asked: dict[int, queue.Queue[Message]] = {}

    def send(said: dict[str, Any], frames: Sequence[bytes] = ()) -> None:
        line = json.dumps({**said, "bytes": [len(one) for one in frames]}, allow_nan=False, default=_plain)
        with sending:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            out.write(line.encode() + b"\n")
            for one in frames:
                out.write(one)
            out.flush()

    def files_of(call: int) -> Files:
        def ask(question: dict[str, Any]) -> Message:
            send(question if concurrency == 1 else {"id": call, **question})
            said, frames = (requests if concurrency == 1 else asked[call]).get()
            if "error" in said:
                raise OSError(said["error"])
            return said, frames

        return Files(ask)

    def answer(said: dict[str, Any], frames: list[bytes]) -> Any:
        call, params, files = said["call"], said["params"], files_of(said["id"])
        if call == "plan":
            planned = plan(params, files)
            return planned if isinstance(planned, int) else list(planned)
        if call == "compute":
            return compute(Chunk(said["index"], said["count"], said.get("input"), params, files))
        if call == "zero":
            return zero(params)
        parts = frames or said["parts"]
        if call == "merge":
            return merge(parts[0], parts[1], params)
        if call == "finish" and finish is not None:
            return finish(parts[0], Context(params, said["folded"], said["count"]))
        raise ValueError(f"there is no {call}")

    def handle(said: dict[str, Any], frames: list[bytes]) -> None:
        try:
            value = answer(said, frames)
            if isinstance(value, Result):
                told = {"contentType": value.content_type, "extension": value.extension}
                notes = {"notes": list(value.notes)} if value.notes else {}
                send({"id": said["id"], "result": {**told, **notes}}, [value.body])
            elif isinstance(value, (bytes, bytearray, memoryview)):
                send({"id": said["id"]}, [bytes(value)])
            else:
                send({"id": said["id"], "value": value})
        except Exception as error:
            traceback.print_exc()
            send({"id": said["id"], "error": f"{type(error).__name__}: {error}", "at": _place(error)})

    def handle_in_thread(said: dict[str, Any], frames: list[bytes]) -> None:
        try:
            handle(said, frames)
        except BaseException as error:
            # What would end the program in its main thread ends it here too.
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1)
        finally:
            del asked[said["id"]]

    calls = ["plan", "compute", "merge", "zero"] + ([] if finish is None else ["finish"])
    send({"leasefold": 1, "calls": calls, **({} if concurrency == 1 else {"concurrency": concurrency})})
    if concurrency == 1:
        while True:
            handle(*requests.get())
    pool = ThreadPoolExecutor(concurrency)
    while True:
        said, frames = requests.get()
        if "call" in said:
            asked[said["id"]] = queue.Queue()
            pool.submit(handle_in_thread, said, frames)
        else:
            asked[said["id"]].put((said, frames))


def _is_child() -> bool:
    """By spawn and forkserver a child runs the program again, under another name, before it knows its parent."""
    return multiprocessing.parent_process() is not None or sys.modules["__mp_main__"].__name__ == "__mp_main__"


def _pipes() -> tuple[queue.Queue[Message], BinaryIO]:
    """The requests, and where answers go. Prints go to standard error from here on, and `input()` finds nothing."""
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # What a function printed before it hangs is told too.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    requests: queue.Queue[Message] = queue.Queue()

    def read() -> None:
        for line in source:
            said = json.loads(line, parse_int=_number)
            requests.put((said, [source.read(length) for length in said.get("bytes", [])]))
        os._exit(0)

    # A thread of its own, which sees the end of the input while a function computes.
    threading.Thread(target=read, daemon=True).start()
    return requests, out


def _number(digits: str) -> Union[int, float]:
    """JavaScript writes doubles up to 1e21 as digits, of which only the first 17 are told."""
    whole = int(digits)
    return whole if abs(whole) <= _exact else float(digits)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no JSON")


_libraries = tuple(
    os.path.join(folder, "")
    for name, folder in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def _place(error: BaseException) -> str:
    """The line of the user's code that led to the error, `pi.py:12`; empty if none did."""
    frames = [
        one
        for one in traceback.extract_tb(error.__traceback__)
        if one.filename != __file__ and not one.filename.startswith(("<", *_libraries))
    ]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
