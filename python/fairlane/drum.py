"""Optimal shares of queue pairs and completion queues among the applications of a host.

An application fetches work requests at a rate ``x`` (WQE/s) and polls completions at a rate ``z``
(CQE/s). :func:`solve` finds the rates of greatest utility

    sum of weight * U(x) - beta * latency_weight / z^2,   U(x) = x^(1 - alpha) / (1 - alpha)

(``log x`` at alpha 1) that the host's egress and its polling budget allow, and a bound that nothing
feasible exceeds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fairlane import _engines, _native
from fairlane._arguments import LARGEST_COUNT, LARGEST_SEED, whole
from fairlane._native import Allocator, Key, ProblemError, Solution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from fairlane._engines import _Engine

    #: What ``fairlane schema drum`` describes: ``kind`` and ``inputs``, as a dictionary or JSON text. Lists of a
    #: dictionary may be arrays of numpy, or columns of polars, pandas and pyarrow.
    _Problem = str | Mapping[str, Any]

    #: How applications are selected, or the method.
    _Mode = Literal[
        "fixed", "topk_utility", "active_set", "timeshare", "paper", "admm", "dual_decomposition"
    ]

__all__ = [
    "Allocator",
    "Claim",
    "Key",
    "ProblemError",
    "Solution",
    "random",
    "schedule",
    "solve",
    "solve_batch",
]


@dataclass(frozen=True)
class Claim:
    """What an application asks of an :class:`Allocator`.

    Attributes:
        weight: Weight of throughput, not negative.
        latency_weight: Weight of latency, not negative.
        a: Completions for each work request (CQE/WQE).
        bytes_per_wqe: Bytes for each work request (B/WQE).
        poll_cost: What a poll costs (CPU-s/CQE).
        x_min: Least rate (WQE/s).
        x_max: Greatest rate (WQE/s).
        peak_rate: Rate while active (WQE/s), which mode ``"timeshare"`` needs.
        outage: Value while it doesn't send, which mode ``"active_set"`` needs unless ``alpha`` < 1 and ``beta``
            is 0; ``-inf``: it has to send.
    """

    weight: float = 1.0
    latency_weight: float = 1.0
    a: float = 1.0
    bytes_per_wqe: float = 1.0
    poll_cost: float = 1.0
    x_min: float = 0.0
    x_max: float = math.inf
    peak_rate: float | None = None
    outage: float | None = None


def solve(
    weight: ArrayLike,
    *,
    alpha: float | Literal["max-min"],
    beta: float = 0.0,
    Q: float | str | None = None,
    C: float | None = None,
    a: ArrayLike | None = None,
    bytes_per_wqe: ArrayLike | None = None,
    poll_cost: ArrayLike | None = None,
    latency_weight: ArrayLike | None = None,
    x_min: ArrayLike | None = None,
    x_max: ArrayLike | None = None,
    mode: Literal["fixed", "topk_utility", "active_set", "timeshare"] = "fixed",
    k: float | None = None,
    selected: Sequence[int] | None = None,
    outage: ArrayLike | None = None,
    peak_rate: ArrayLike | None = None,
    rows: Sequence[tuple[str, ArrayLike, float]] | None = None,
    segments: Sequence[Sequence[float]] | None = None,
    dependency: Literal["equality", "at_least"] = "equality",
    tolerance: float = 1e-13,
    iterations: int = 3000,
    nodes: int = 2000,
    start: Sequence[float] | None = None,
) -> Solution:
    """Find the rates of greatest value for the ``m`` applications of a host.

    Arrays are lists, or anything with numbers that numpy takes, of one dimension. Those of ``float64`` that are contiguous are
    read where they are, without copies. The interpreter lock is released meanwhile.

    >>> from fairlane import drum
    >>> drum.solve([2, 1], alpha=1, Q="100Gbps").x.round(-6)
    array([8.333e+09, 4.167e+09])

    Args:
        weight: Weights of throughput, shape (m,), not negative.
        alpha: Fairness: 0 for throughput, 1 for proportional, any number from 0, or ``"max-min"``.
        beta: How much latency counts against throughput, not negative.
        Q: Egress of the host (B/s), or a rate with its unit, such as ``"100Gbps"``.
        C: Budget for polling (CPU-s/s).
        a: Completions for each work request (CQE/WQE), shape (m,); 1 by default.
        bytes_per_wqe: Bytes for each work request (B/WQE), shape (m,); 1 by default.
        poll_cost: What a poll costs (CPU-s/CQE), shape (m,); 1 by default.
        latency_weight: Weights of latency, shape (m,); 1 by default.
        x_min: Least rates (WQE/s), shape (m,); 0 by default.
        x_max: Greatest rates (WQE/s), shape (m,), ``inf`` where there is none; none by default.
        mode: ``"fixed"`` (all applications, or ``selected``), ``"topk_utility"`` (the ``k`` greatest
            throughput utilities count), ``"active_set"`` (at most ``k`` send), ``"timeshare"``
            (long-run rates, at most ``k`` active at a time).
        k: How many; a whole number except in mode ``"timeshare"``.
        selected: Applications whose throughput counts, ascending, in mode ``"fixed"``.
        outage: Values of applications that don't send, shape (m,), in mode ``"active_set"``.
        peak_rate: Rates while active (WQE/s), shape (m,), in mode ``"timeshare"``.
        rows: More rows: name, use for each work request (shape (m,)), capacity.
        segments: A convex price on egress instead of ``Q``: pairs of start (B/s) and slope.
        dependency: ``"equality"`` (z = a x) or ``"at_least"`` (z >= a x).
        tolerance: Relative gap at which the solver stops.
        iterations: Most passes over the applications for each convex problem.
        nodes: Most nodes of the search for a selection, 0 for none.
        start: Prices of a similar problem, a row each, to start from.

    Returns:
        The rates with their value (``objective``), the bounds on it (``dual_bound``, ``proven_bound``) and what
        that amounts to (``status``).

    Raises:
        ProblemError: The problem has no solution or isn't one; says where and why.
    """
    columns = {
        "a": a,
        "bytes_per_wqe": bytes_per_wqe,
        "poll_cost": poll_cost,
        "latency_weight": latency_weight,
        "x_min": x_min,
        "x_max": x_max,
        "outage": outage,
        "peak_rate": peak_rate,
    }
    given = {name: _column(name, column) for name, column in columns.items() if column is not None}
    more = [(name, _column(f"rows.{name}", use), capacity) for name, use, capacity in rows or ()]
    count = len(_column("weight", weight))
    chosen = None if selected is None else [_index(at, one, count) for at, one in enumerate(selected)]
    return _native.solve(
        _column("weight", weight),
        alpha=alpha,
        beta=beta,
        Q=Q,
        C=C,
        mode=mode,
        k=k,
        selected=chosen,
        rows=None if rows is None else more,
        segments=segments,
        dependency=dependency,
        tolerance=tolerance,
        iterations=_whole("iterations", iterations, 0, 2**53),
        nodes=_whole("nodes", nodes, 0, 2**53),
        start=start,
        **given,
    )


def _column(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Give numbers of one dimension as the native part reads them; an array that is so already isn't copied."""
    import numpy as np

    try:
        column = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        column = None
    if column is None or np.ndim(given) != 1:
        hint = "a list or an array of one dimension, such as [1, 2.5]"
        raise ProblemError(f"{name}: expected a number for each application\nhint: {hint}")
    return column


def _index(at: int, given: int, count: int) -> int:
    return _whole(f"selected[{at}]", given, 0, count - 1)


def _problem_error(message: str, place: str, hint: str) -> Exception:
    return ProblemError(f"{place}: {message}\nhint: {hint}")


def _whole(place: str, given: Any, low: int, high: int) -> int:
    number: int = whole(place, given, low, high, error=_problem_error)
    return number


def solve_batch(
    problems: Iterable[_Problem],
    *,
    mode: _Mode | None = None,
    k: float | None = None,
    tolerance: float | None = None,
    engine: _Engine = "threads",
    workers: int | None = None,
    address: str | None = None,
    memory: int | None = None,
    keep_going: bool = False,
    require_gap: float | None = None,
    start: Sequence[Mapping[str, Any] | None] | None = None,
) -> list[dict[str, Any]]:
    """Solve many problems, as ``fairlane drum solve`` solves a file with one on each line.

    >>> from fairlane import drum
    >>> problems = drum.random(hosts=3, applications=8, seed=1)
    >>> [answer["name"] for answer in drum.solve_batch(problems)]
    ['random-1-0', 'random-1-1', 'random-1-2']

    Args:
        problems: Documents with ``kind`` and ``inputs``, of hosts or networks, as dictionaries or JSON; lists of a
            dictionary may be arrays of numpy, or columns of polars, pandas and pyarrow.
        mode: Instead of the problems' own.
        k: Instead of the problems' own.
        tolerance: Relative gap at which the solver stops.
        engine: ``"threads"``, ``"processes"`` or ``"ray"``, as for :func:`fairlane.sweep`.
        workers: How many at a time; by default one for each processor.
        address: Of a Ray cluster, as for :func:`fairlane.sweep`.
        memory: Bytes of memory that a problem needs on Ray.
        keep_going: Answer a problem that is wrong or has no solution with ``{"error": "problems[3]: ..."}``, and go on.
        require_gap: Largest ``relative_gap`` that an answer may have.
        start: For each problem the answer to a similar one, to start from its prices, or None. Networks start anew.

    Returns:
        The answers in the order of the problems, as ``fairlane drum solve`` prints them: ``status``, ``objective``,
        ``dual_bound``, ``x``, ``z``, ``prices`` and more. They are the same whatever the engine.

    Raises:
        ProblemError: A problem is wrong or has no solution: ``problems[3]: inputs.weight[0]: ...``, or an answer has a
            larger gap than asked for.
        MissingError: Ray isn't installed.
    """
    chosen = _engines.choose(engine, "solve", workers=workers, address=address, memory=memory)
    asked = (mode, k, tolerance)
    texts = [_text(problem) for problem in problems]
    starts = [None] * len(texts) if start is None else [_prices(answer) for answer in start]
    if len(starts) != len(texts):
        raise ProblemError(f"start: {len(starts)} answers for {len(texts)} problems")
    answers: list[dict[str, Any]] = [{} for _ in texts]
    if chosen is None:
        found = _native.solve_documents(list(zip(texts, starts)), asked, workers, keep_going)
        for number, (result, error) in enumerate(found):
            answers[number] = {"error": error} if result is None else json.loads(result)
        return _required(answers, require_gap)
    places = [f"problems[{number}]" for number in range(len(texts))]
    tasks = [
        (number, place, json.dumps([text, place, asked, begin]))
        for number, (text, place, begin) in enumerate(zip(texts, places, starts))
    ]
    for number, result, wrong in chosen(tasks):
        if result is not None:
            answers[number] = json.loads(result)
            continue
        message = wrong[0] if wrong else places[number]
        if not keep_going:
            raise ProblemError(message)
        answers[number] = {"error": message}
    return _required(answers, require_gap)


def _required(answers: list[dict[str, Any]], gap: float | None) -> list[dict[str, Any]]:
    for number, answer in enumerate(answers):
        found = answer.get("relative_gap", 0.0)
        if gap is not None and (found is None or found > gap):
            raise ProblemError(f"problems[{number}]: relative gap {found}, {gap} at most is required")
    return answers


def schedule(
    problem: _Problem,
    *,
    policy: Literal["frame", "reserve"] = "frame",
    frame: int | None = None,
    reserved: int = 2,
    mode: _Mode | None = None,
    k: float | None = None,
    tolerance: float | None = None,
) -> dict[str, Any]:
    """Lay out who is active when, so that nobody starves, as ``fairlane drum schedule`` does.

    >>> from fairlane import drum
    >>> [problem] = drum.random(hosts=1, applications=6, seed=1, mode="timeshare", k=2)
    >>> plan = drum.schedule(problem, frame=12)
    >>> plan["epochs"], max(len(active) for active in plan["active"])
    (12, 2)

    Args:
        problem: A document with ``kind`` and ``inputs`` of one host, as for :func:`solve_batch`.
        policy: ``"frame"``, which repeats, with the epochs and rates that are worth most, or ``"reserve"``: most
            slots by what applications gain, the rest by how long they wait.
        frame: Epochs; by default about the fewest with which rates are near the best.
        reserved: Slots that go to whoever has waited longest, policy ``"reserve"``.
        mode: Instead of the problem's own.
        k: Queue pairs that may be active at a time, instead of the problem's own.
        tolerance: Relative gap at which the solver stops.

    Returns:
        ``epochs``, ``k``, ``active`` and ``rates`` (for each epoch the applications that are active, and their rates),
        ``applications`` (for each ``rate`` over all epochs and ``active_rate``, ``active_epochs``, ``longest_wait``),
        ``objective``, ``dual_bound`` and ``rate_gap``, ``rows`` (``usage`` over all epochs and ``most`` in one),
        ``longest_wait`` and ``longest_wait_bound`` in epochs.

    Raises:
        ProblemError: The problem is wrong or has no solution, a minimum can't be kept, or there is no such frame.
    """
    if policy not in ("frame", "reserve"):
        raise ProblemError(f'policy: {policy!r}, expected "frame" or "reserve"')
    kept = _whole("reserved", reserved, 0, LARGEST_COUNT) if policy == "reserve" else None
    if frame is not None:
        frame = _whole("frame", frame, 0, 2**63 - 1)
    plan: dict[str, Any] = json.loads(
        _native.schedule(_text(problem), (mode, k, tolerance), kept, frame)
    )
    short = [
        f"application {one['application']}{_called(one)} gets {one['rate']:g} of {one['minimum']:g}"
        for one in plan.get("unmet", [])
    ]
    if short:
        names = ", ".join(short[:5]) + (f", {len(short) - 5} more" if len(short) > 5 else "")
        raise ProblemError(f"minimums that can't be kept together: {names} (WQE/s)")
    return plan


def _called(one: Mapping[str, Any]) -> str:
    return f" ({one['name']})" if "name" in one else ""


def random(
    *,
    hosts: int,
    applications: int,
    seed: int,
    alpha: float = 0.5,
    beta: float = 0.01,
    mode: _Mode = "fixed",
    k: int | None = None,
    coupled: bool = False,
) -> list[dict[str, Any]]:
    """Make random problems, the same as ``fairlane drum random``.

    Args:
        hosts: A problem for each, unless they are ``coupled``.
        applications: Of each host.
        seed: What the random numbers derive from.
        alpha: Fairness exponent.
        beta: How much latency counts against throughput.
        mode: How applications are selected.
        k: Queue pairs that may be active at a time; modes that select need it.
        coupled: One network of the hosts, with ingress, polling of arrivals, and core links.

    Returns:
        Documents with ``name``, ``kind`` and ``inputs``, for :func:`solve_batch` and :func:`schedule`.

    Raises:
        ProblemError: The arguments don't go together.
    """
    hosts = _whole("hosts", hosts, 1, 2**32 - 1)
    applications = _whole("applications", applications, 1, 2**32 - 1)
    seed = _whole("seed", seed, 0, LARGEST_SEED)
    if k is not None:
        k = _whole("k", k, 0, 2**32 - 1)
    texts = _native.random((hosts, applications), seed, (alpha, beta), mode, k, coupled)
    return [json.loads(text) for text in texts]


def _text(problem: _Problem) -> str:
    return problem if isinstance(problem, str) else json.dumps(problem, default=_plain)


def _plain(column: Any) -> Any:
    """Give a column as a list; a number that is infinite, as a rate without limit, is None."""
    for name in ("tolist", "to_pylist", "to_list"):
        if hasattr(column, name):
            return _finite(getattr(column, name)())
    raise TypeError(f"{type(column).__name__} is no number, text, list, array or column")


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if value == math.inf else value


def _prices(answer: Mapping[str, Any] | None) -> str | None:
    """Give what the solver takes from an earlier answer, unless that is an error."""
    if answer is None or "rows" not in answer or "dual_prices" not in answer:
        return None
    return json.dumps({key: answer[key] for key in ("rows", "dual_prices")}, default=_plain)
