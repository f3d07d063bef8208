"""Many runs, one answer: :func:`sweep`, and the :class:`Sweep` that comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from fairlane import _engines, _native
from fairlane._arguments import LARGEST_COUNT, whole
from fairlane.errors import FairlaneError, Interrupted, ScenarioError, SweepError
from fairlane.scenario import Scenario
from fairlane.simulate import Report, _source

if TYPE_CHECKING:
    import os

    from fairlane._engines import _Engine
    from fairlane._native import Table
    from fairlane.simulate import Source

__all__ = ["Progress", "Sweep", "sweep"]


class Progress(NamedTuple):
    """How far a sweep is."""

    #: Name of the run that has just ended; nothing at the beginning.
    run: Optional[str]
    #: Runs that have ended, those of earlier times included.
    ended: int
    #: All runs.
    runs: int
    #: Share of the work of this time that is done, 0 to 1.
    share: float


def sweep(
    scenario: Source,
    axes: Union[Mapping[str, Any], None] = None,
    *,
    seeds: Optional[int] = None,
    metrics: Optional[Sequence[Union[str, Mapping[str, Any]]]] = None,
    curves: Sequence[Mapping[str, Any]] = (),
    derived: Sequence[Mapping[str, Any]] = (),
    set: Optional[Mapping[str, Any]] = None,
    title: Optional[str] = None,
    plot: Optional[Mapping[str, Any]] = None,
    folder: Union[str, os.PathLike[str]] = "",
    out: Union[str, os.PathLike[str], None] = None,
    extend: bool = False,
    yes: bool = False,
    engine: _Engine = "threads",
    workers: Optional[int] = None,
    address: Optional[str] = None,
    memory: Optional[int] = None,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Sweep:
    """Run every combination of the values of some keys, with several seeds each.

    It is what the command ``fairlane sweep`` does, and a folder ``out`` is the same for both. Everything
    is checked before the first run. Tables don't depend on the engine or the number of workers.

    >>> import fairlane
    >>> star = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
    >>> incast = {"topology": star, "workload": [{"kind": "incast", "degree": 4, "size": "64kB"}]}
    >>> axes = {"congestion.algorithm": ["dcqcn", "swift"], "workload.0.degree": [2, 4]}
    >>> sweep = fairlane.sweep(incast, axes, metrics=["slowdown.max"])
    >>> sweep.means.columns
    ['run', 'congestion.algorithm', 'workload.0.degree', 'metric', 'mean', 'ci95', 'min', 'max', 'n']
    >>> len(sweep.table), sweep.means["workload.0.degree"].tolist()
    (4, [2.0, 4.0, 2.0, 4.0])

    Args:
        scenario: As for :func:`fairlane.run`; without ``axes`` the path of a sweep's file, which says
            the rest.
        axes: What is varied, crossed with each other: dotted keys of the scenario with lists of values.
            Or a name with a dictionary of what ``[[axis]]`` has in a sweep's file: ``key`` or ``keys``,
            ``values`` or ``range``, ``with`` for an axis in step with another one. ``{}`` for seeds
            alone.
        seeds: Runs of each combination, from the scenario's seed on; 1 by default.
        metrics: Names of numbers in ``run.summary`` such as ``"slowdown.p99"``, of signals behind
            ``"signals."``, or dictionaries of what ``[[metric]]`` has. By default the 50th and 99th
            percentile of slowdowns, and goodput.
        curves: Dictionaries of what ``[[curve]]`` has: distributions for :meth:`Sweep.report`.
        derived: Dictionaries of what ``[[derived]]`` has: keys set to expressions of axes.
        set: Changes for all runs, by dotted key.
        title: What the report is called.
        plot: What the report shows first: ``x``, ``lines``, ``log``.
        folder: As for :func:`fairlane.run`.
        out: A folder that keeps every run as it ends, and tables and page in the end. The same call
            again goes on where it ended.
        extend: Whether a folder of another sweep becomes that of this one; runs that both have aren't
            run again.
        yes: Whether there may be more than 10,000 runs.
        engine: ``"threads"`` of this process, ``"processes"`` of this interpreter, or ``"ray"``.
        workers: How many runs at a time; by default one for each processor, on Ray for each of the
            cluster (two, of which one waits).
        address: Of a Ray cluster; by default the one that ``ray.init`` was called for, else one that is
            started for this.
        memory: Bytes of memory that a run needs on Ray, which places no more runs on a node than have
            room; 256 MiB by default.
        progress: Is called at the beginning and when a run has ended.

    Raises:
        ScenarioError: Something is wrong with scenario, axes or metrics; says where and what to do.
        WriteError: ``out`` is the folder of something else, is in use, or can't be written.
        SweepError: Some runs couldn't be simulated; its ``sweep`` has the others.
        Interrupted: A ``KeyboardInterrupt``; its ``sweep`` has the runs that had ended.
        MissingError: Ray isn't installed.
    """
    seeds = whole("seeds", seeds, 0, 2**32 - 1)
    workers = whole("workers", workers, 0, LARGEST_COUNT)
    memory = whole("memory", memory, 1, 2**63 - 1)
    chosen = _engines.choose(engine, "measure", workers=workers, address=address, memory=memory)
    file: Optional[Path] = None
    text, places, where = "", list[str](), Path(folder)
    if axes is None:
        said = (seeds, metrics, set, title, plot)
        file = _file(scenario, any(it is not None for it in said) or bool(curves) or bool(derived))
    else:
        text, places, where = _text(scenario, axes, where, seeds, metrics, curves, derived, set, title, plot)
    try:
        native = _native.Sweep(
            file, text, places, where, out=out, extend=extend, yes=yes, threads=workers
        )
    except ScenarioError as error:
        if file is None and not error.place:
            # A mistake of the scenario itself has a better place there.
            _native.check(_source(scenario), dict(set or {}), folder)
        raise
    made = Sweep(native)
    try:
        failed = native.complete(chosen, workers, _teller(progress))
        native.write()
    except KeyboardInterrupt:
        raise Interrupted(made, None if out is None else str(out)) from None
    finally:
        native.release()
    if failed:
        name, message, hint = failed[0]
        others = f" (and {len(failed) - 1} others)" if len(failed) > 1 else ""
        text = f"{len(failed)} of {made.runs} runs failed{others}: {message}"
        raise SweepError(made, text, f"run {name!r}", hint or None)
    return made


def _teller(
    progress: Optional[Callable[[Progress], object]],
) -> Optional[Callable[[Optional[str], int, int, float], object]]:
    if progress is None:
        return None
    return lambda run, ended, runs, share: progress(Progress(run, ended, runs, share))


class Sweep:
    """A sweep and what is known of its runs."""

    def __init__(self, native: _native.Sweep) -> None:
        self._native = native
        self.axes, self.metrics = native.names()

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self._native.kept()[1]

    @property
    def kept(self) -> int:
        """How many of them have ended."""
        return self._native.kept()[0]

    @property
    def table(self) -> Table:
        """A row for each run that has ended and each metric.

        ``run`` (name of the combination), a column for each axis, ``seed``, ``ending``, ``metric``,
        ``value`` (missing where it isn't defined). Axes of numbers, sizes, times and rates are floats
        (bytes, seconds, bits per second), others text.
        """
        return self._native.table()

    @property
    def means(self) -> Table:
        """A row for each combination and each metric.

        ``run``, a column for each axis, ``metric``, ``mean`` over seeds, ``ci95`` (half the width of its
        95 % confidence interval, Student's t; missing for one seed), ``min``, ``max``, ``n`` (runs that
        have the figure).
        """
        return self._native.means()

    def report(self) -> Report:
        """Make the page with lines and bands, maps and distributions; a notebook shows it inline."""
        return Report(self._native.report(), self._native.title() or "sweep")

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        return f"<Sweep of {', '.join(self.axes) or 'seeds'}: {self.kept} of {self.runs} runs>"


def _file(scenario: Source, more: bool) -> Path:
    if isinstance(scenario, (Mapping, Scenario)) or (isinstance(scenario, str) and "\n" in scenario):
        hint = 'axes={"congestion.algorithm": ["dcqcn", "swift"]}; {} for seeds alone'
        raise ScenarioError("expected what is varied", "axes", hint)
    if more:
        hint = "without axes, the first argument is the path of a sweep's file, which says the rest"
        raise ScenarioError("expected what is varied, beside other arguments", "axes", hint)
    return Path(scenario)


def _text(
    scenario: Source,
    axes: Mapping[str, Any],
    folder: Path,
    seeds: Optional[int],
    metrics: Optional[Sequence[Union[str, Mapping[str, Any]]]],
    curves: Sequence[Mapping[str, Any]],
    derived: Sequence[Mapping[str, Any]],
    set: Optional[Mapping[str, Any]],
    title: Optional[str],
    plot: Optional[Mapping[str, Any]],
) -> tuple[str, list[str], Path]:
    """Put arguments together to a sweep's file: its text, of each line the argument, and its folder."""
    lines: list[str] = []
    places: list[str] = []

    def add(place: str, text: str) -> None:
        added = text.splitlines()
        lines.extend(added)
        places.extend([place] * len(added))

    def write(place: str, table: dict[str, Any]) -> None:
        add(place, _native.toml_text(table, place))

    source = _source(scenario)
    if metrics is None:
        metrics = () if curves else ("slowdown.p50", "slowdown.p99", "goodput_gbps")
    if title is not None:
        write("title", {"title": title})
    write("seeds", {"seeds": 1 if seeds is None else seeds})
    write("set", {"set": _native.settings(dict(set or {}))})
    write("metrics", {"metrics": [it for it in metrics if isinstance(it, str)]})
    # Tables come after what stands at the top.
    later = ""
    if isinstance(source, dict):
        later = _native.toml_text({"scenario": source}, "")
    elif isinstance(source, str) and "\n" in source:
        later = _native.toml_scenario(source)
    else:
        path = Path(source)
        write("scenario", {"scenario": path.name})
        folder = path.parent
    for name, given in axes.items():
        write(f"axes[{name!r}]", {"axis": [_axis(name, given)]})
    for number, metric in enumerate(metrics):
        if not isinstance(metric, str):
            write(f"metrics[{number}]", {"metric": [dict(metric)]})
    for name, tables in (("curves", curves), ("derived", derived)):
        for number, table in enumerate(tables):
            write(f"{name}[{number}]", {name.replace("curves", "curve"): [dict(table)]})
    if plot is not None:
        write("plot", {"plot": dict(plot)})
    add("scenario", later)
    return "\n".join(lines) + "\n", places, folder


def _axis(name: str, given: object) -> dict[str, Any]:
    place = f"axes[{name!r}]"
    if isinstance(given, Mapping):
        axis = dict(given)
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        axis = {"values": given}
    else:
        hint = f"write a list, also of one value: [{given!r}]"
        raise ScenarioError(f"{given!r} is no list of values", place, hint)
    if "values" in axis:
        axis["values"] = list(axis["values"])
        if not axis["values"]:
            hint = "leave the axis out to run what the scenario says"
            raise ScenarioError("the list of values is empty", place, hint)
    if "keys" not in axis:
        axis.setdefault("key", name)
    return {"name": name, **axis}
