"""Attacks and published experiments: :func:`attack` and :func:`reproduce`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, Union

from fairlane import _native
from fairlane._arguments import LARGEST_COUNT, whole
from fairlane.simulate import _changes, _source

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from fairlane._native import Table
    from fairlane.simulate import Source

    #: The name of an attack; ``paced`` is none, and only tried by its own name.
    _Attack = Literal[
        "all",
        "parallel",
        "staggered",
        "shuffled-overlay",
        "churn",
        "rotating-incast",
        "pulse",
        "pfc-storm",
        "cache-flood",
        "nic-hog",
        "paced",
    ]

    #: Which traffic shares one controller.
    _Scope = Literal["all", "none", "qp", "destination-unsplit", "pair", "tenant"]

__all__ = ["Outcome", "Verdict", "attack", "experiments", "reproduce"]

#: Is told what begins: its name, its number, and how many there are.
_Progress = Callable[[str, int, int], object]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What attacks gain, and what they do to others."""

    #: A dictionary for each attack under each scope, with the keys of ``verdict.json``:
    #: ``attack``, ``scope``, ``controller``, ``gain``, ``victims_p99_ratio``, ``verdict`` and more.
    rows: list[dict[str, Any]]
    #: What a reader should know.
    notes: list[str]
    #: What the scenario can't have of ``"all"``, and why.
    left_out: list[str]


def attack(
    scenario: Source,
    *,
    attack: _Attack = "all",
    scope: _Scope = "all",
    attacker: Optional[str] = None,
    seeds: int = 3,
    set: Optional[Mapping[str, Any]] = None,
    threads: Optional[int] = None,
    folder: Union[str, os.PathLike[str]] = "",
    progress: Optional[_Progress] = None,
    **overrides: Any,
) -> Verdict:
    """Try attacks of one tenant, as the command ``fairlane attack`` does.

    Args:
        scenario: As for :func:`fairlane.run`.
        attack: Its name, or every one that the scenario can have.
        scope: Which traffic shares one controller, or every choice.
        attacker: The tenant that attacks; by default that of the scenario's attack, else the first.
        seeds: Runs of everything, each with the next seed.
        set: As for :func:`fairlane.run`.
        threads: How many; by default one for each processor. The verdict doesn't depend on it.
        folder: As for :func:`fairlane.run`.
        progress: Is called as each run begins.
        **overrides: As for :func:`fairlane.run`.

    Raises:
        ScenarioError: There is no such attack, scope or tenant, or the scenario can't have it.
        KeyboardInterrupt: A signal arrived.
    """
    seeds = whole("seeds", seeds, 1, LARGEST_COUNT)
    threads = whole("threads", threads, 1, LARGEST_COUNT)
    rows, notes, left_out = _native.attack(
        _source(scenario),
        _changes(set, overrides),
        attack=attack,
        scope=scope,
        attacker=attacker,
        seeds=seeds,
        threads=threads,
        progress=progress,
        folder=folder,
    )
    return Verdict(json.loads(rows), notes, left_out)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What an experiment amounts to, beside what was published."""

    name: str
    #: What it shows.
    title: str
    #: Where it was published.
    source: str
    #: The figure there, if it is one.
    figure: Optional[str]
    #: Whether it was run in a reduced size.
    quick: bool
    #: A row for each run, with columns of the experiment's own after ``run``.
    rows: Table
    #: What must hold, and what was published: ``name``, ``published``, ``measured``; ``relation`` and
    #: ``target``, or ``tolerance``; ``verdict`` (``"pass"``, ``"fail"``, ``"reproduced"``,
    #: ``"not reproduced"``), ``deviates`` and ``expected``.
    checks: list[dict[str, Any]]
    #: What the source leaves open: ``name``, ``values``, ``rows`` at each of these, ``checks`` with
    #: ``measured`` and ``verdicts`` at each.
    open: list[dict[str, Any]]
    #: What a reader should know.
    notes: list[str]
    #: Points of its pictures: ``plot``, ``curve``, ``x``, ``y``.
    curves: Table

    @property
    def passes(self) -> bool:
        """Whether every check ends as the experiment says."""
        return all(check["expected"] for check in self.checks)


def experiments() -> dict[str, str]:
    """Name the published experiments that :func:`reproduce` knows, with what each shows.

    >>> import fairlane
    >>> fairlane.experiments()["s0-fig8"]  # doctest: +ELLIPSIS
    '...'
    """
    return dict(_native.experiments())


def reproduce(
    name: Union[str, os.PathLike[str]],
    *,
    quick: bool = False,
    threads: Optional[int] = None,
    progress: Optional[_Progress] = None,
) -> list[Outcome]:
    """Run published experiments, as the command ``fairlane reproduce`` does.

    Args:
        name: That of an experiment, ``"all"``, or the path of a folder with an ``experiment.toml``.
        quick: In a reduced size, to see that everything works.
        threads: How many; by default one for each processor.
        progress: Is called as each part begins.

    Returns:
        An outcome for each experiment.

    Raises:
        FairlaneError: There is no such experiment, or its files are wrong.
        ScenarioError: ``threads`` isn't a number of threads.
        KeyboardInterrupt: A signal arrived.
    """
    made = []
    threads = whole("threads", threads, 1, LARGEST_COUNT)
    for text, rows, curves in _native.reproduce(str(name), quick, threads, progress):
        said = json.loads(text)
        said.update(rows=rows, curves=curves)
        made.append(Outcome(**said))
    return made
