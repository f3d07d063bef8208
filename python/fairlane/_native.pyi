import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ProblemError",
    "Allocator",
    "Key",
    "Run",
    "Saved",
    "Solution",
    "Sweep",
    "Table",
    "__version__",
    "attack",
    "check",
    "experiments",
    "measure",
    "paths",
    "random",
    "reproduce",
    "run",
    "saved",
    "schedule",
    "schema",
    "settings",
    "solve",
    "solve_document",
    "solve_documents",
    "tidy",
    "toml_scenario",
    "toml_text",
    "topology",
]

_Path = str | os.PathLike[str]
_Name = Literal[
    "messages",
    "ports",
    "links",
    "signals",
    "tenants",
    "throughput",
    "pauses",
    "collectives",
    "chosen",
    "rates",
    "packets",
    "capture",
]

_Task = tuple[int, str, str]
_Answer = tuple[int, str | None, tuple[str, str] | None]
_Asked = tuple[str | None, float | None, float | None]

__version__: str

class ProblemError(ValueError): ...

@final
class Solution:
    @property
    def objective(self) -> float: ...
    @property
    def status(self) -> Literal["optimal", "feasible", "stalled"]: ...
    @property
    def dual_bound(self) -> float: ...
    @property
    def proven_bound(self) -> float: ...
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

@final
class Key: ...

class _Claim(Protocol):
    @property
    def weight(self) -> float: ...
    @property
    def latency_weight(self) -> float: ...
    @property
    def a(self) -> float: ...
    @property
    def bytes_per_wqe(self) -> float: ...
    @property
    def poll_cost(self) -> float: ...
    @property
    def x_min(self) -> float: ...
    @property
    def x_max(self) -> float: ...
    @property
    def peak_rate(self) -> float | None: ...
    @property
    def outage(self) -> float | None: ...

@final
class Allocator:
    def __new__(
        cls,
        *,
        alpha: float | Literal["max-min"],
        Q: float,
        C: float,
        beta: float = 0.0,
        mode: Literal["fixed", "topk_utility", "active_set", "timeshare"] = "fixed",
        k: float | None = None,
        dependency: Literal["equality", "at_least"] = "equality",
        tolerance: float = 1e-13,
    ) -> Allocator: ...
    def __len__(self) -> int: ...
    def keys(self) -> list[Key]: ...
    def insert(self, claim: _Claim) -> Key: ...
    def remove(self, key: Key) -> None: ...
    def update(self, key: Key, claim: _Claim) -> None: ...
    def set_capacities(self, *, Q: float, C: float) -> None: ...
    def resolve(self) -> Solution: ...

def solve(
    weight: NDArray[np.float64],
    *,
    alpha: float | str,
    beta: float = 0.0,
    Q: float | str | None = None,
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

@final
class Table:
    """A table in memory, in columns as Arrow lays them out.

    ``table["slowdown"]`` is a copy of a column: an array of numpy, shape (rows,), or of text a list.
    Whole numbers of which some are missing, and times that never came, are floats with NaN.
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns, each with its unit at the end where there is one."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> Any:
        """Copy a column.

        Raises:
            KeyError: There is no column of that name.
        """

    def to_pandas(self) -> Any:
        """Make a data frame of pandas; whole numbers of columns that have gaps are floats there.

        Raises:
            MissingError: pandas isn't installed.
        """

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Run:
    def table(self, name: _Name) -> Table: ...
    def summary(self) -> str: ...
    def text(self) -> str: ...
    def scenario(self) -> str: ...
    def report(self) -> str: ...
    def write(self, directory: _Path, force: bool = False) -> str: ...

@final
class Saved:
    def table(self, name: _Name) -> Table: ...
    def summary(self) -> str: ...
    def text(self) -> str: ...
    def scenario(self) -> str: ...
    def report(self) -> str: ...
    def write(self, directory: _Path, force: bool = False) -> str: ...

def saved(directory: _Path) -> Saved: ...
def run(
    scenario: object,
    overrides: dict[str, Any],
    *,
    seed: int | None = None,
    threads: int | None = None,
    folder: _Path = ...,
    out: _Path | None = None,
    force: bool = False,
) -> Run: ...
def topology(scenario: object, overrides: dict[str, Any], *, folder: _Path = ...) -> str: ...
def paths(
    scenario: object,
    overrides: dict[str, Any],
    ends: tuple[int, int],
    ports: tuple[int, int],
    destination_port: int,
    *,
    folder: _Path = ...,
) -> list[tuple[int | None, list[int] | None, list[int] | None]]: ...
def schema() -> str: ...
def tidy(rows: Sequence[tuple[str, int, str, float]]) -> Table: ...

@final
class Sweep:
    def __new__(
        cls,
        file: _Path | None,
        text: str,
        places: Sequence[str],
        folder: _Path,
        *,
        out: _Path | None,
        extend: bool,
        yes: bool,
        threads: int | None,
    ) -> Sweep: ...
    def complete(
        self,
        engine: Callable[[Iterable[_Task]], Iterator[_Answer]] | None,
        threads: int | None,
        progress: Callable[[str | None, int, int, float], object] | None,
    ) -> list[tuple[str, str, str]]: ...
    def release(self) -> None: ...
    def kept(self) -> tuple[int, int]: ...
    def table(self) -> Table: ...
    def means(self) -> Table: ...
    def names(self) -> tuple[list[str], list[str]]: ...
    def title(self) -> str: ...
    def text(self) -> str: ...
    def report(self) -> str: ...
    def write(self) -> None: ...

def measure(task: str) -> str: ...
def toml_text(table: dict[str, Any], place: str) -> str: ...
def toml_scenario(text: str) -> str: ...
def check(scenario: object, overrides: dict[str, Any], folder: _Path = ...) -> None: ...
def settings(overrides: dict[str, Any]) -> list[str]: ...
def attack(
    scenario: object,
    overrides: dict[str, Any],
    *,
    attack: str,
    scope: str,
    attacker: str | None,
    seeds: int,
    threads: int | None,
    progress: Callable[[str, int, int], object] | None,
    folder: _Path = ...,
) -> tuple[str, list[str], list[str]]: ...
def experiments() -> list[tuple[str, str]]: ...
def reproduce(
    name: str,
    quick: bool,
    threads: int | None,
    progress: Callable[[str, int, int], object] | None,
) -> list[tuple[str, Table, Table]]: ...
def solve_document(text: str, place: str, asked: _Asked, start: str | None) -> str: ...
def solve_documents(
    texts: Sequence[tuple[str, str | None]], asked: _Asked, threads: int | None, keep_going: bool
) -> list[tuple[str | None, str | None]]: ...
def schedule(text: str, asked: _Asked, reserved: int | None, frame: int | None) -> str: ...
def random(
    size: tuple[int, int],
    seed: int,
    utility: tuple[float, float],
    mode: str,
    k: int | None,
    coupled: bool,
) -> list[str]: ...
