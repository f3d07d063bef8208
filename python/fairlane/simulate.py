"""Runs of scenarios: :func:`run`, and the :class:`Run` that comes back."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from fairlane import _native
from fairlane._arguments import LARGEST_COUNT, LARGEST_NODE, LARGEST_PORT, LARGEST_SEED, whole
from fairlane.errors import ScenarioError
from fairlane.scenario import Scenario

if TYPE_CHECKING:
    import os

    from fairlane._native import Table

__all__ = ["Report", "Run", "load", "paths", "run", "topology"]

#: A file, TOML in several lines, a dictionary with the keys of the file, or an object.
Source = Union[str, "os.PathLike[str]", Mapping[str, Any], Scenario]


def run(
    scenario: Source,
    *,
    set: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    folder: Union[str, os.PathLike[str]] = "",
    out: Union[str, os.PathLike[str], None] = None,
    force: bool = False,
    **overrides: Any,
) -> Run:
    """Simulate a scenario, without files unless ``out`` is given.

    The interpreter's lock is released meanwhile; Ctrl-C ends the run with ``KeyboardInterrupt``.

    >>> import fairlane
    >>> scenario = {
    ...     "topology": {
    ...         "kind": "star",
    ...         "hosts": 4,
    ...         "host_link": {"rate": "100Gbps", "delay": "1us"},
    ...     },
    ...     "workload": [{"kind": "incast", "degree": 3, "size": "256kB"}],
    ... }
    >>> run = fairlane.run(scenario, congestion__algorithm="swift", workload__0__degree=2)
    >>> len(run.messages), run.summary["ending"]
    (2, 'complete')

    Args:
        scenario: A file's path, TOML text of several lines, a dictionary with the keys of the file
            (keys that are ``None`` are left out), or a :class:`fairlane.scenario.Scenario`.
        set: What to change in it: dotted keys as the command's ``--set`` has them, with values.
        seed: The number that random streams derive from, instead of the scenario's.
        threads: How many threads; by default as many as pay. Results don't depend on it.
        folder: Where the files lie that a text or a dictionary names; by default here. Those that a
            file names lie beside it.
        out: A directory for the files that ``fairlane run`` writes. It is reserved beforehand.
        force: Whether results that are there already may be replaced.
        **overrides: As ``set``, with ``__`` for each dot: ``workload__0__load=0.7``.

    Returns:
        The run with its tables. A run that stalls or fails is a result, too: see
        ``run.summary["ending"]``.

    Raises:
        ScenarioError: The scenario or an argument is wrong; says where and what to do.
        WriteError: ``out`` can't be written.
        KeyboardInterrupt: A signal arrived; then nothing was written.
    """
    changes = _changes(set, overrides)
    source = _source(scenario)
    seed = whole("seed", seed, 0, LARGEST_SEED)
    threads = whole("threads", threads, 1, LARGEST_COUNT)
    native = _native.run(
        source, changes, seed=seed, threads=threads, folder=folder, out=out, force=force
    )
    return Run(native)


def load(directory: Union[str, os.PathLike[str]]) -> Run:
    """Read a run back that the command, or ``out``, has written.

    Tables are those of the files: messages, ports, chosen, collectives, capture, pauses, rates and packets.

    >>> import fairlane, tempfile
    >>> star = {"kind": "star", "hosts": 3, "host_link": {"rate": "100Gbps", "delay": "1us"}}
    >>> incast = {"kind": "incast", "degree": 2, "size": "64kB"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fairlane.run({"topology": star, "workload": [incast]}, out=f"{folder}/run")
    ...     len(fairlane.load(f"{folder}/run").messages)
    2

    Args:
        directory: What ``fairlane run`` has written.

    Raises:
        FairlaneError: The directory holds no results, or a file that is asked for is damaged or wasn't written.
    """
    return Run(_native.saved(directory))


def topology(
    scenario: Source, *, folder: Union[str, os.PathLike[str]] = "", **overrides: Any
) -> dict[str, Any]:
    """Describe the fabric of a scenario, without its traffic.

    Args:
        scenario: As for :func:`run`.
        folder: As for :func:`run`.
        **overrides: As for :func:`run`.

    Returns:
        What ``fairlane topology --format json`` prints: counts of hosts, switches and links, tiers
        with their oversubscription, ``base_rtt_ns``, ``bdp_bytes``, ``bisection_gbps``.

    Raises:
        ScenarioError: The scenario is wrong.
    """
    text = _native.topology(_source(scenario), _changes(None, overrides), folder=folder)
    facts: dict[str, Any] = json.loads(text)
    return facts


def paths(
    scenario: Source,
    source: int,
    destination: int,
    *,
    ports: range = range(10000, 10016),
    destination_port: int = 100,
    folder: Union[str, os.PathLike[str]] = "",
    **overrides: Any,
) -> list[dict[str, Any]]:
    """Tell which paths messages between two hosts take.

    Args:
        scenario: As for :func:`run`.
        source: Node number of the host that sends.
        destination: Node number of the other.
        ports: UDP source ports, in steps of one.
        destination_port: Label of the message, which only profile ``hpcc-ns3`` hashes.
        folder: As for :func:`run`.
        **overrides: As for :func:`run`.

    Returns:
        For each source port ``source_port``, ``forward`` and ``reverse``: node numbers that data and
        acknowledgements pass, both ends included; ``forward_indices`` and ``reverse_indices``: by
        link, which it is of several between two nodes, from 0, and ``None`` for one that is alone.
        Where switches choose packet by packet, ``source_port`` is ``None``, and each row has one
        path in one direction, the other being ``None``.

    Raises:
        ScenarioError: The scenario or an argument is wrong, or a node isn't a host.
    """
    if not isinstance(ports, range) or ports.step != 1 or len(ports) == 0:
        hint = "expected a range of at least one port, in steps of one"
        raise ScenarioError(f"is {ports!r}", "ports", hint)
    source = whole("source", source, 0, LARGEST_NODE)
    destination = whole("destination", destination, 0, LARGEST_NODE)
    first = whole("ports.start", ports.start, 0, LARGEST_PORT)
    last = whole("ports.stop", ports.stop, 1, LARGEST_PORT + 1) - 1
    destination_port = whole("destination_port", destination_port, 0, LARGEST_PORT)
    rows = _native.paths(
        _source(scenario),
        _changes(None, overrides),
        (source, destination),
        (first, last),
        destination_port,
        folder=folder,
    )
    names = ("source_port", "forward", "reverse", "forward_indices", "reverse_indices")
    return [dict(zip(names, row)) for row in rows]


def _source(scenario: Source) -> Any:
    if isinstance(scenario, Scenario):
        return scenario.to_dict()
    if isinstance(scenario, Mapping):
        return dict(scenario)
    return scenario


def _changes(set: Optional[Mapping[str, Any]], overrides: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(set or {})
    changes.update((key.replace("__", "."), value) for key, value in overrides.items())
    return changes


class Run:
    """A finished run.

    Tables follow the Arrow PyCapsule interface, so that dataframe libraries take them without a copy:
    ``polars.DataFrame(run.messages)``, ``pyarrow.table(run.messages)``,
    ``run.messages.to_pandas()``, ``duckdb.from_arrow(pyarrow.table(run.messages))``.
    """

    def __init__(self, native: Union[_native.Run, _native.Saved]) -> None:
        self._native = native
        self._summary: Optional[dict[str, Any]] = None

    @property
    def messages(self) -> Table:
        """One row for each message, in order of completion; the columns of ``flows.parquet``.

        Times are in picoseconds (``start_ps``, ``finish_ps``, ``completion_ps``, ``ideal_ps``), sizes in
        bytes; ``slowdown`` is completion over ideal time. What never finished has no finish.
        """
        return self._native.table("messages")

    @property
    def ports(self) -> Table:
        """Time series of every port, a row for each interval and port; the columns of ``ports.parquet``."""
        return self._native.table("ports")

    @property
    def chosen(self) -> Table:
        """Time series of the ports that ``output.ports`` names; the columns of ``chosen.parquet``."""
        return self._native.table("chosen")

    @property
    def links(self) -> Table:
        """A row for each direction of each link: its ends, its rate, its use over the run (0 to about 1)."""
        return self._native.table("links")

    @property
    def signals(self) -> Table:
        """What the network said: ``signal``, ``tenant`` (if it is one's), ``count``, ``why_zero``."""
        return self._native.table("signals")

    @property
    def tenants(self) -> Table:
        """A row for each tenant; none if there is only one, which :attr:`summary` describes."""
        return self._native.table("tenants")

    @property
    def throughput(self) -> Table:
        """What links deliver to hosts over time: ``time_ns`` (start of an interval), ``throughput_gbps``."""
        return self._native.table("throughput")

    @property
    def collectives(self) -> Table:
        """Collectives of programs and steps of training; the columns of ``collectives.parquet``."""
        return self._native.table("collectives")

    @property
    def pauses(self) -> Table:
        """Pause frames in order of arrival; the columns of ``pauses.csv``."""
        return self._native.table("pauses")

    @property
    def rates(self) -> Table:
        """Rates of messages as they changed, if ``output.rate_interval`` asks for them."""
        return self._native.table("rates")

    @property
    def packets(self) -> Table:
        """Packets at the nodes that ``output.trace_nodes`` names."""
        return self._native.table("packets")

    @property
    def capture(self) -> Table:
        """Packets at the ports that ``capture`` names."""
        return self._native.table("capture")

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds; units are in the names."""
        if self._summary is None:
            self._summary = json.loads(self._native.summary())
        return self._summary

    @property
    def scenario(self) -> str:
        """The scenario that ran, every default filled in, as TOML."""
        return self._native.scenario()

    def report(self) -> Report:
        """Make the page ``report.html``; a notebook shows it inline."""
        return Report(self._native.report(), self.summary["name"])

    def write(self, directory: Union[str, os.PathLike[str]], *, force: bool = False) -> Path:
        """Write the files that ``fairlane run`` writes, and return the directory.

        Args:
            directory: Where to; it appears once it is complete.
            force: Whether results that are there already may be replaced.

        Raises:
            WriteError: There are files already, or it can't be written.
        """
        return Path(self._native.write(directory, force=force))

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        summary = self.summary
        done = f"{summary['completed']} of {summary['messages']} messages"
        return f"<Run {summary['name']!r}: {summary['congestion']}, {done}, {summary['ending']}>"


class Report:
    """A page about a run, as one file that needs no network."""

    def __init__(self, html: str, name: str) -> None:
        self.html = html
        self.name = name

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Write the page to a file and return its path."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        frame = 'style="width: 100%; height: 900px; border: 0"'
        return f'<iframe title="{html.escape(self.name, quote=True)}" {frame} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"<Report on {self.name!r}, {len(self.html) // 1024} KiB>"
