"""Runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Union

from fairlane import _native

if TYPE_CHECKING:
    from fairlane._native import Table
    from fairlane.simulate import Run

__all__ = ["compare"]


def compare(runs: Union[Mapping[str, Run], Sequence[Run]]) -> Table:
    """Put the summaries of runs into one tidy table, a row for each run and figure.

    Args:
        runs: Runs by the name that they are to have; of a sequence, each has that of its scenario.

    Returns:
        Columns ``run`` (text), ``seed`` (whole number), ``metric`` (name in ``summary.json``, with
        its unit at the end and dots for what is inside, as ``slowdown.max``), ``value`` (float).
        Figures that a run doesn't have have no row there; ``host``, the cost on this machine, is left
        out.

    >>> import fairlane
    >>> star = {"kind": "star", "hosts": 3, "host_link": {"rate": "100Gbps", "delay": "1us"}}
    >>> incast = {"topology": star, "workload": [{"kind": "incast", "degree": 2, "size": "64kB"}]}
    >>> both = {name: fairlane.run(incast, congestion__algorithm=name) for name in ("dcqcn", "hpcc")}
    >>> table = fairlane.compare(both)
    >>> [name for name, metric in zip(table["run"], table["metric"]) if metric == "slowdown.max"]
    ['dcqcn', 'hpcc']
    """
    named = runs.items() if isinstance(runs, Mapping) else ((it.summary["name"], it) for it in runs)
    rows = []
    for name, run in named:
        summary = run.summary
        figures = {key: value for key, value in summary.items() if key not in ("host", "seed")}
        rows += [(name, summary["seed"], metric, value) for metric, value in _leaves("", figures)]
    return _native.tidy(rows)


def _leaves(path: str, value: object) -> list[tuple[str, float]]:
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        return [(path, float(value))]
    parts: list[tuple[str, float]] = []
    if isinstance(value, dict):
        for key, inside in value.items():
            parts += _leaves(f"{path}.{key}" if path else key, inside)
    elif isinstance(value, list):
        for number, inside in enumerate(value):
            parts += _leaves(f"{path}[{number}]", inside)
    return parts
