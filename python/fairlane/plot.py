"""Figures of the field, by matplotlib: axes in, axes out.

Each function draws on ``ax``, or on new axes if there are none, and returns them. Matplotlib is
loaded when something is drawn.

>>> import fairlane, matplotlib
>>> matplotlib.use("agg")
>>> star = {"kind": "star", "hosts": 5, "host_link": {"rate": "100Gbps", "delay": "1us"}}
>>> incast = {"kind": "incast", "degree": 4, "size": "64kB"}
>>> run = fairlane.run({"topology": star, "workload": [incast]})
>>> ax = fairlane.plot.cdf(run, label="incast")
>>> ax.get_xlabel()
'slowdown'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from fairlane.errors import MissingError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from fairlane.simulate import Run
    from fairlane.sweeps import Sweep

__all__ = ["cdf", "fabric", "means", "queue", "slowdown_by_size", "throughput"]

#: Picoseconds in a microsecond, the unit of axes of time.
_PS_IN_US = 1e6
#: Rows of a map that are each drawn; of more, those that share a pixel are mixed.
_MOST_ROWS = 200


def _axes(ax: Optional[Axes]) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingError(
            "matplotlib isn't installed", "fairlane.plot", "pip install matplotlib"
        ) from error
    return pyplot.subplots(layout="constrained")[1]


def _tidy(ax: Axes) -> None:
    """Leave lines to be seen: a faint grid, no frame."""
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _units(axis: Axis, unit: str) -> None:
    """Write 64 kB, not 6.4e4."""
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(unit=unit))


def _logarithmic(ax: Axes) -> None:
    """Make x logarithmic with plain numbers, also within a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def slowdown_by_size(
    run: Run,
    ax: Optional[Axes] = None,
    *,
    percentile: Literal["p50", "p95", "p99", "p999"] = "p99",
    **style: Any,
) -> Axes:
    """Draw slowdown against message size, a point for each bin of ``summary["slowdown_bins"]``.

    Args:
        run: What to draw.
        ax: Where to; on new axes by default.
        percentile: Which figure of each bin.
        **style: For matplotlib's ``plot``.

    Raises:
        MissingError: There is no matplotlib.
    """
    ax = _axes(ax)
    bins = run.summary["slowdown_bins"]
    sizes = [bin["upto_bytes"] for bin in bins]
    # A percentile of too few messages is None, which is drawn as a gap.
    tail = [float("nan") if bin[percentile] is None else bin[percentile] for bin in bins]
    ax.plot(sizes, tail, **{"marker": ".", **style})
    words = {"p999": "99.9th"}.get(percentile, f"{percentile[1:]}th")
    ax.set(xlabel="message size", ylabel=f"slowdown, {words} percentile", xscale="log")
    _units(ax.xaxis, "B")
    # What is drawn later on the same axes may reach further.
    ax.set_ylim(bottom=min(1.0, ax.get_ylim()[0]), auto=None)
    _tidy(ax)
    return ax


def cdf(
    run: Run,
    ax: Optional[Axes] = None,
    *,
    of: Literal["slowdown", "completion_ps", "size_bytes"] = "slowdown",
    **style: Any,
) -> Axes:
    """Draw the distribution function of a column of ``run.messages``, along a logarithmic axis.

    Messages that didn't finish are left out.

    Args:
        run: What to draw.
        ax: Where to; on new axes by default.
        of: The column. Completion times are drawn in microseconds.
        **style: For matplotlib's ``ecdf``.

    Raises:
        MissingError: There is no matplotlib.
    """
    ax = _axes(ax)
    values = run.messages[of]
    values = values[values == values]
    if of == "completion_ps":
        values = values / _PS_IN_US
    if len(values):
        ax.ecdf(values, **style)
    if of == "size_bytes":
        ax.set_xscale("log")
        _units(ax.xaxis, "B")
    else:
        _logarithmic(ax)
    label = {"completion_ps": "completion time (us)", "size_bytes": "message size"}
    ax.set(xlabel=label.get(of, of), ylabel="share of messages", ylim=(0, 1.01))
    _tidy(ax)
    return ax


def queue(
    run: Run, ax: Optional[Axes] = None, *, port_id: Optional[int] = None, **style: Any
) -> Axes:
    """Draw the most bytes that waited in each interval, at a port or at the deepest of each interval.

    Args:
        run: What to draw.
        ax: Where to; on new axes by default.
        port_id: Number of the port in ``run.links``; by default the deepest switch port at each time.
        **style: For matplotlib's ``plot``.

    Raises:
        MissingError: There is no matplotlib.
    """
    ax = _axes(ax)
    times, depth = _by_port(run, "queue_max_bytes")
    if port_id is None:
        depth = depth[:, run.links["on_switch"]]
        values = depth.max(axis=1) if depth.size else depth.sum(axis=1)
    else:
        values = depth[:, port_id]
    _over_time(ax, times, values, style)
    _units(ax.yaxis, "B")
    where = "deepest queue" if port_id is None else f"queue of port {port_id}"
    ax.set(xlabel="time (us)", ylabel=where)
    return ax


def throughput(
    run: Run, ax: Optional[Axes] = None, *, port_id: Optional[int] = None, **style: Any
) -> Axes:
    """Draw what links deliver to hosts over time, in Gb/s, headers included; or what one port sends.

    Args:
        run: What to draw.
        ax: Where to; on new axes by default.
        port_id: Number of the port in ``run.links``; by default all that lead to hosts.
        **style: For matplotlib's ``plot``.

    Raises:
        MissingError: There is no matplotlib.
    """
    ax = _axes(ax)
    if port_id is None:
        over_time = run.throughput
        times, values = over_time["time_ns"] / 1e3, over_time["throughput_gbps"]
    else:
        times, used = _by_port(run, "utilization")
        values = used[:, port_id] * run.links["rate_bps"][port_id] / 1e9
    _over_time(ax, times, values, style)
    where = "throughput to hosts" if port_id is None else f"throughput of port {port_id}"
    ax.set(xlabel="time (us)", ylabel=f"{where} (Gb/s)")
    return ax


def _by_port(run: Run, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the start of each interval in microseconds, and a column by interval and port."""
    ports, count = run.ports, len(run.links)
    times = ports["time_ps"].reshape(-1, count)[:, 0] / _PS_IN_US
    return times, ports[column].reshape(-1, count)


def _over_time(
    ax: Axes, times: NDArray[np.float64], values: NDArray[np.float64], style: dict[str, Any]
) -> None:
    """Draw values that each hold for an interval."""
    ax.plot(times, values, **{"drawstyle": "steps-post", **style})
    # What is drawn later on the same axes may reach further.
    ax.set_ylim(bottom=0, auto=None)
    _tidy(ax)


def fabric(run: Run, ax: Optional[Axes] = None, **style: Any) -> Axes:
    """Draw a map of the use of all links over time: a row for each direction of a link.

    From above: from hosts into the fabric, between switches, and out to hosts, each in the order of
    nodes.

    Args:
        run: What to draw.
        ax: Where to; on new axes by default.
        **style: For matplotlib's ``imshow``.

    Raises:
        MissingError: There is no matplotlib.
    """
    ax = _axes(ax)
    import numpy as np

    links = run.links
    times, used = _by_port(run, "utilization")
    hosts = links["node"][~links["on_switch"]]
    to_host = np.isin(links["peer_node"], hosts)
    group = np.where(~links["on_switch"], 0, np.where(to_host, 2, 1))
    order = np.lexsort((links["peer_node"], links["node"], group))
    end = 2 * times[-1] - times[-2] if len(times) > 1 else run.summary["end_ns"] / 1e3
    extent = (times[0] if len(times) else 0.0, end, len(order), 0)
    look = {"vmin": 0, "vmax": 1, "cmap": "magma_r", "aspect": "auto", "extent": extent}
    if len(order) < _MOST_ROWS:
        look["interpolation"] = "nearest"
    image = ax.imshow(used[:, order].T, **{**look, **style})
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label("use of the link")
    sizes = np.bincount(group, minlength=3)
    ends = np.cumsum(sizes)
    names = ["from hosts", "between\nswitches", "to hosts"]
    there = [place for place in range(3) if sizes[place]]
    ax.set_yticks(
        [ends[place] - sizes[place] / 2 for place in there],
        [f"{names[place]}\n({sizes[place]})" for place in there],
    )
    ax.tick_params(axis="y", length=0)
    for place in there[:-1]:
        ax.axhline(ends[place], color="0.4", linewidth=0.8)
    ax.set(xlabel="time (us)", ylabel="links")
    return ax


def means(
    sweep: Sweep,
    metric: Optional[str] = None,
    ax: Optional[Axes] = None,
    *,
    x: Optional[str] = None,
    lines: Optional[str] = None,
    log: bool = False,
    **style: Any,
) -> Axes:
    """Draw means of a sweep with their 95 % intervals as bands, a line for each value of an axis.

    Args:
        sweep: What to draw.
        metric: Which figure; the first by default.
        ax: Where to; on new axes by default.
        x: The axis along x; by default the first of numbers, else the first.
        lines: The axis with a line for each value; by default the first other one. Of further axes,
            all values are joined to the names of lines.
        log: Whether y is logarithmic.
        **style: For matplotlib's ``plot``.

    Raises:
        MissingError: There is no matplotlib.
        KeyError: There is no such metric or axis.
    """
    ax = _axes(ax)
    import numpy as np

    table = sweep.means
    metric = sweep.metrics[0] if metric is None else metric
    if metric not in sweep.metrics:
        raise KeyError(f"no metric {metric!r}; there are {', '.join(sweep.metrics)}")
    rows = [place for place, name in enumerate(table["metric"]) if name == metric]
    values = {axis: [table[axis][place] for place in rows] for axis in sweep.axes}
    numbers = [axis for axis in sweep.axes if not isinstance(values[axis][0], str)]
    along = x or [*numbers, *sweep.axes, "run"][0]
    others = [axis for axis in sweep.axes if axis not in (along, lines)]
    named = [lines, *others] if lines else others
    at = values[along] if along in values else table[along]
    keys = [", ".join(_words(values[axis][place]) for axis in named) for place in range(len(rows))]
    mean, half = (np.asarray(table[column])[rows] for column in ("mean", "ci95"))
    places = _places(at)
    for key in dict.fromkeys(keys):
        chosen = [place for place, other in enumerate(keys) if other == key]
        chosen.sort(key=lambda place: places[place])
        where = [places[place] for place in chosen]
        look = {"marker": ".", "label": key or None, **style}
        (line,) = ax.plot(where, mean[chosen], **look)
        band = np.nan_to_num(half[chosen])
        low, high = mean[chosen] - band, mean[chosen] + band
        ax.fill_between(where, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    _label_x(ax, at, places)
    ax.set(xlabel=along, ylabel=metric, yscale="log" if log else "linear")
    if any(keys):
        ax.legend(frameon=False, title=", ".join(named))
    _tidy(ax)
    return ax


def _words(value: Union[str, float]) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _places(values: Any) -> list[float]:
    """Where values stand along x: numbers where they are, words in order."""
    words = list(dict.fromkeys(values))
    if words and isinstance(words[0], str):
        return [float(words.index(value)) for value in values]
    return [float(value) for value in values]


def _label_x(ax: Axes, values: Any, places: list[float]) -> None:
    """Write what stands along x; numbers that grow by a factor are spread evenly."""
    known = dict(sorted(zip(places, values)))
    if not known:
        return
    numbers = list(known)
    if isinstance(known[numbers[0]], str):
        ax.set_xticks(numbers, list(known.values()))
    elif len(numbers) > 2 and numbers[0] > 0 and numbers[-1] >= 8 * numbers[0]:
        ax.set_xscale("log")
        ax.set_xticks(numbers, [_words(number) for number in numbers], minor=False)
        ax.minorticks_off()
