"""Units of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from typing import Union

#: One or all ports of a node by its number: `"host:3"`, `"switch:7"`, `"switch:7/port:2"`.
CapturePoint = str

#: A time with its unit.
Duration = str

#: A size with its unit, or a number of bytes.
Bytes = Union[str, int]

#: A data rate with its unit.
Rate = str

#: A set of hosts by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
HostSet = str
