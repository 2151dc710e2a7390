"""Dask with two worker processes of one thread, asked by lines."""

from distributed import Client, LocalCluster

import peer_work

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    client = Client(cluster)
    peer_work.answer_lines(lambda tasks: client.gather(client.map(peer_work.compute, tasks, pure=False)))
