"""Two Ray nodes of one CPU each, with raylets of their own, in a process of its own. Lines on standard input rule them.

``kill`` kills the second node as a machine that loses its power, ``add`` adds one, the end of input ends all.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    others = [cluster.add_node(**NODE)]
    say(f"address {cluster.address}")
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(others.pop(), allow_graceful=False)
        else:
            others.append(cluster.add_node(**NODE))
        say("done")
    cluster.shutdown()


if __name__ == "__main__":
    main()
