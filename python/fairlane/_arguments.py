"""Numbers that callers hand in, checked before the native part, which knows their machine types."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Optional, overload

from fairlane.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

#: The largest seed: the largest whole number that TOML has.
LARGEST_SEED = 2**63 - 1
#: What counts of threads, workers and seeds fit in.
LARGEST_COUNT = 2**16 - 1
#: Node numbers.
LARGEST_NODE = 2**32 - 1
#: UDP ports.
LARGEST_PORT = 2**16 - 1


def _scenario_error(message: str, place: str, hint: str) -> Exception:
    return ScenarioError(message, place, hint)


@overload
def whole(
    place: str, value: None, low: int, high: int, *, error: Callable[[str, str, str], Exception] = ...
) -> None: ...
@overload
def whole(
    place: str, value: Any, low: int, high: int, *, error: Callable[[str, str, str], Exception] = ...
) -> int: ...
def whole(
    place: str,
    value: Any,
    low: int,
    high: int,
    *,
    error: Callable[[str, str, str], Exception] = _scenario_error,
) -> Optional[int]:
    """Give a whole number within limits, also one of numpy's; None stays None."""
    if value is None:
        return None
    expected = f"expected a whole number from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise error(f"is {value!r}", place, expected) from None
    if not low <= number <= high:
        raise error(f"is {number}", place, expected)
    return number
