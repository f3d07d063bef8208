"""What the classes of :mod:`fairlane.scenario` have in common."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any


class Section:
    """A table of a scenario. Attributes that are ``None`` are left out: then the default holds."""

    def __setattr__(self, name: str, value: object) -> None:
        known = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise AttributeError(f"{type(self).__name__} has no key {name!r}; {hint}")
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Give what is stated as a dictionary, with the keys of the scenario file."""
        stated = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = _plain(getattr(self, field.name))
            untouched = field.default_factory is not dataclasses.MISSING and value == {}
            if value is not None and not untouched:
                stated[field.name.rstrip("_")] = value
        return stated


def _plain(value: object) -> object:
    if isinstance(value, Section):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
