"""Celery with two worker processes on Redis, asked by lines."""

import os
import subprocess
import sys
import time

from celery import Celery, group

import peer_work

url = "redis://127.0.0.1:" + os.environ["PEERS_REDIS"]
app = Celery("celery_peer", broker=url + "/0", backend=url + "/1")


@app.task(name="compute")
def compute(task):
    return peer_work.compute(task)


def compute_all(tasks):
    return group(compute.s(task) for task in tasks).apply_async().get()


if __name__ == "__main__":
    command = [sys.executable, "-m", "celery", "-A", "celery_peer", "worker"]
    flags = ["--concurrency", "2", "--loglevel", "critical", "--without-gossip", "--without-mingle"]
    worker = subprocess.Popen(command + flags, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not app.control.ping(timeout=0.5):
        time.sleep(0.1)
    peer_work.answer_lines(compute_all)
    worker.terminate()
