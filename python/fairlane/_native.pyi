from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = ["ProblemError", "Solution", "__version__", "solve"]

__version__: str

class ProblemError(ValueError): ...

@final
class Solution:
    @property
    def objective(self) -> float: ...
    @property
    def dual_bound(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def relative_gap(self) -> float: ...
    @property
    def x(self) -> NDArray[np.float64]: ...
    @property
    def z(self) -> NDArray[np.float64]: ...
    @property
    def prices(self) -> NDArray[np.float64]: ...
    @property
    def dual_prices(self) -> NDArray[np.float64]: ...
    @property
    def usage(self) -> NDArray[np.float64]: ...
    @property
    def selected(self) -> NDArray[np.uintp]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def proven(self) -> bool: ...

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
) -> Solution: ...
