"""Measure what the package costs: ``python tools/measure.py [COMMAND]``, with a release build.

A million messages are read into polars. With the path of the command ``fairlane``, the same scenario is run
by it and by :func:`fairlane.run`, in turn, with files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import polars

import fairlane

#: Times that each is measured.
REPEATS = 7

HOSTS = 64
STAR = {"kind": "star", "hosts": HOSTS, "host_link": {"rate": "100Gbps", "delay": "1us"}}
#: About a million messages of one packet.
MANY = f"""
stop = "2400us"
[topology]
kind = "star"
hosts = {HOSTS}
host_link = {{ rate = "100Gbps", delay = "1us" }}
[[workload]]
kind = "poisson"
load = 0.5
sizes = [{{ size = "900B", percent = 0 }}, {{ size = "1000B", percent = 100 }}]
duration = "2400us"
"""


def read_a_million() -> None:
    """Print how long polars takes for the messages of a run."""
    run = fairlane.run(MANY)
    took = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        frame = polars.DataFrame(run.messages)
        took.append(time.perf_counter() - begun)
    columns = (polars.DataFrame(run.messages)["size_bytes"] for _ in range(2))
    places = {column.to_numpy(allow_copy=False).ctypes.data for column in columns}
    memory = "shared" if len(places) == 1 else "COPIED"
    size = f"{frame.height} messages, {frame.width} columns"
    print(f"{size} into polars: {median(took) * 1e3:.2f} ms, memory {memory}")


def beside_the_command(command: str, scenario: str) -> None:
    """Print how long a scenario takes by the command and by the package, in turn."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(REPEATS):
            out = Path(folder) / f"command{number}"
            begun = time.perf_counter()
            asked = [command, "run", scenario, "--out", out, "-q"]
            subprocess.run(asked, check=True, capture_output=True)
            theirs.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            fairlane.run(scenario, out=Path(folder) / f"package{number}")
            ours.append(time.perf_counter() - begun)
    least = min(theirs), min(ours)
    print(f"{scenario}, least of {REPEATS}: command {least[0]:.3f} s, fairlane.run {least[1]:.3f} s")
    print(f"fairlane.run takes {least[1] / least[0] - 1:+.1%}")


def main() -> None:
    """Measure."""
    read_a_million()
    if len(sys.argv) > 1:
        scenarios = Path(__file__).parents[2] / "scenarios"
        beside_the_command(sys.argv[1], str(scenarios / "hadoop-fat-tree.toml"))


if __name__ == "__main__":
    main()
