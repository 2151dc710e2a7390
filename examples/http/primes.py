"""Submits a run over HTTP, follows it and prints its result. `leasefold show url` and `leasefold show key` tell where.

Needs nothing but Python 3.8 or later. docs/openapi.json describes what is asked and answered here.
"""

import hashlib
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ["LEASEFOLD_URL"].rstrip("/")
HEADERS = {"x-functions-key": os.environ["LEASEFOLD_KEY"], "content-type": "application/json"}
PART = 8 * 1024 * 1024


def ask(method, path, body=None, **headers):
    """The answer. Asks again where none came or the app is busy: each of these requests can be repeated."""
    data = None if body is None else json.dumps(body).encode()
    for pause in (0.5, 1, 2, 4, 8, None):
        request = urllib.request.Request(f"{URL}/{path}", data, {**HEADERS, **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=230) as answer:
                return answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            if error.code != 503 or pause is None:
                problem = json.loads(error.read() or b"{}")
                sys.exit(f"{problem.get('code', error.code)}: {problem.get('detail', error.reason)}")
        except OSError as error:
            if pause is None:
                sys.exit(f"no answer: {error}")
        time.sleep(pause)


def download(path):
    """The bytes of a result, in parts of one ETag, which is their SHA-256."""
    headers, data = ask("GET", path, range=f"bytes=0-{PART - 1}")
    etag, total = headers["etag"], int(headers["content-range"].rsplit("/", 1)[1])
    while len(data) < total:
        more = {"range": f"bytes={len(data)}-{len(data) + PART - 1}", "if-range": etag}
        data += ask("GET", path, **more)[1]
    if hashlib.sha256(data).hexdigest() != etag.strip('"'):
        sys.exit("the bytes are not those of the result")
    return data


# The same id with the same parameters is the same run, so that a program that is started again continues it.
run = {"calculation": "primes", "params": {"to": 100000000}, "id": "primes-8", "tags": {"team": "numbers"}}
ask("POST", "runs", run)
status = {"active": True}
while status["active"]:
    status = json.loads(ask("GET", "runs/primes-8?wait=20")[1])
    print(status["word"], status.get("packs"), file=sys.stderr)
if status["phase"] != "complete":
    sys.exit(f"the run has {status['phase']}: {status.get('error')}")
print(download("runs/primes-8/result").decode())
