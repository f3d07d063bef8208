"""Sweeps and batches on a Ray cluster, of which a node is lost."""

import time
from pathlib import Path
from typing import Any

import pytest

import fairlane
from fairlane import drum

STAR = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
INCAST = {"topology": STAR, "workload": [{"kind": "incast", "degree": 4, "size": "1MB", "jitter": "2us"}]}
AXES = {"congestion.algorithm": ["dcqcn", "swift"], "workload.0.degree": [2, 4]}
FILES = ["means.csv", "means.parquet", "table.csv", "table.parquet"]

ray = pytest.importorskip("ray", reason="ray isn't installed")
# Ray leaves sockets and files to the interpreter's end, and warns of settings to come.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def study(**more: Any) -> fairlane.Sweep:
    return fairlane.sweep(INCAST, AXES, seeds=3, metrics=["slowdown.max"], **more)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes, each a set of processes of its own."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


def test_a_lost_node_means_repeated_runs(cluster, tmp_path: Path) -> None:
    both, second = cluster
    nodes = []

    def alive() -> int:
        return sum(node["Alive"] for node in ray.nodes())

    def lose(state: fairlane.Progress) -> None:
        nodes.append(alive())
        if state.ended == 3:
            # Its processes are killed with what they are doing.
            both.remove_node(second, allow_graceful=False)
            end = time.monotonic() + 60
            while alive() > 1 and time.monotonic() < end:
                time.sleep(0.05)

    sweep = study(engine="ray", memory=64 << 20, out=tmp_path / "ray", progress=lose)
    assert (sweep.kept, nodes[0], nodes[-1]) == (12, 2, 1)
    study(out=tmp_path / "threads")
    for name in FILES:
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "threads" / name).read_bytes()
    assert ray.is_initialized(), "a cluster of the caller's stays his"


def test_batches_and_their_errors(cluster) -> None:
    problems = drum.random(hosts=6, applications=10, seed=3)
    assert drum.solve_batch(problems, engine="ray") == drum.solve_batch(problems)
    problems[4]["inputs"]["weight"][2] = -1.0
    with pytest.raises(drum.ProblemError, match=r"problems\[4\]: inputs.weight\[2\]"):
        drum.solve_batch(problems, engine="ray")


def test_memory_that_no_node_has_is_refused(cluster) -> None:
    with pytest.raises(fairlane.FairlaneError, match="memory: no node has"):
        study(engine="ray", memory=1 << 60)
