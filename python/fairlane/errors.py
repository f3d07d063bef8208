"""What can go wrong, with its place and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from fairlane.sweeps import Sweep

__all__ = [
    "FairlaneError",
    "Interrupted",
    "MissingError",
    "ScenarioError",
    "SweepError",
    "WriteError",
]


class FairlaneError(Exception):
    """What every exception of this package is.

    Attributes:
        message: What was found and what was expected.
        place: Where: ``file:line:column``, a key such as ``workload[0].load``, or nothing.
        hint: What to do about it, if that is known.
    """

    message: str
    place: str
    hint: Optional[str]

    def __init__(self, message: str, place: str = "", hint: Optional[str] = None) -> None:
        super().__init__(message, place, hint)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}\nhint: {self.hint}" if self.hint else text


class ScenarioError(FairlaneError, ValueError):
    """A mistake in a scenario, in an override, or in a file that a scenario names."""


class WriteError(FairlaneError):
    """Results that can't be written."""


class MissingError(FairlaneError, ImportError):
    """A library that isn't installed, and that only this needs."""


class SweepError(FairlaneError):
    """Runs of a sweep that couldn't be simulated.

    Attributes:
        sweep: The sweep with all other runs.
    """

    sweep: Sweep

    def __init__(
        self, sweep: Sweep, message: str, place: str = "", hint: Optional[str] = None
    ) -> None:
        super().__init__(message, place, hint)
        self.sweep = sweep


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    Attributes:
        sweep: The sweep with the runs that had ended.
    """

    sweep: Sweep

    def __init__(self, sweep: Sweep, folder: Optional[str]) -> None:
        kept = f"{sweep.kept} of {sweep.runs} runs are kept"
        if folder is None:
            text = f"{kept} in this exception's `sweep`\nhint: name a folder, out=..., to go on later"
        else:
            text = f"{kept} in {folder}\nhint: the same call again goes on"
        super().__init__(text)
        self.sweep = sweep
