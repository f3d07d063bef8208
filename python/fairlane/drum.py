"""Optimal shares of queue pairs and completion queues among the applications of a host.

An application fetches work requests at a rate ``x`` (WQE/s) and polls completions at a rate ``z``
(CQE/s). :func:`solve` finds the rates of greatest utility

    sum of weight * U(x) - beta * latency_weight / z^2,   U(x) = x^(1 - alpha) / (1 - alpha)

(``log x`` at alpha 1) that the host's egress and its polling budget allow, and a bound that nothing
feasible exceeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlane import _native
from fairlane._native import ProblemError, Solution

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ProblemError", "Solution", "solve"]


def solve(
    weight: NDArray[np.float64],
    *,
    alpha: float | str,
    beta: float = 0.0,
    Q: float | None = None,
    C: float | None = None,
    a: NDArray[np.float64] | None = None,
    bytes_per_wqe: NDArray[np.float64] | None = None,
    poll_cost: NDArray[np.float64] | None = None,
    latency_weight: NDArray[np.float64] | None = None,
    x_min: NDArray[np.float64] | None = None,
    x_max: NDArray[np.float64] | None = None,
    mode: str = "fixed",
    k: float | None = None,
    selected: Sequence[int] | None = None,
    outage: NDArray[np.float64] | None = None,
    peak_rate: NDArray[np.float64] | None = None,
    rows: Sequence[tuple[str, NDArray[np.float64], float]] | None = None,
    segments: Sequence[Sequence[float]] | None = None,
    dependency: str = "equality",
    tolerance: float = 1e-13,
    iterations: int = 3000,
    nodes: int = 2000,
    start: Sequence[float] | None = None,
) -> Solution:
    """Find the rates of greatest value for the ``m`` applications of a host.

    Arrays are contiguous, one-dimensional and of ``float64``; they are read where they are, without
    copies. The interpreter lock is released meanwhile.

    Args:
        weight: Weights of throughput, shape (m,), not negative.
        alpha: Fairness: 0 for throughput, 1 for proportional, any number from 0, or ``"max-min"``.
        beta: How much latency counts against throughput, not negative.
        Q: Egress of the host (B/s).
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
        The rates with their value (``objective``) and bound (``dual_bound``).

    Raises:
        ProblemError: The problem has no solution or isn't one; says where and why.
        TypeError: An array isn't contiguous, one-dimensional and of ``float64``.
    """
    return _native.solve(
        weight,
        alpha=alpha,
        beta=beta,
        Q=Q,
        C=C,
        a=a,
        bytes_per_wqe=bytes_per_wqe,
        poll_cost=poll_cost,
        latency_weight=latency_weight,
        x_min=x_min,
        x_max=x_max,
        mode=mode,
        k=k,
        selected=selected,
        outage=outage,
        peak_rate=peak_rate,
        rows=rows,
        segments=segments,
        dependency=dependency,
        tolerance=tolerance,
        iterations=iterations,
        nodes=nodes,
        start=start,
    )
