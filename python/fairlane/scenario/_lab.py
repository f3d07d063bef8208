"""Lab of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Literal, Optional, Union

from fairlane._section import Section
from fairlane.scenario._units import Duration


@dataclass
class LabProgram(Section):
    """A program that runs at a host.

    Attributes:
        name: Name, unique; a letter, then up to 39 letters, digits, `-`, `_` and `.`.
        host: The host, by node.
        command: Program and arguments. In these `{address:NAME}` is the address of another
            program's NIC.
        after: Not before this: a time of the real clock since the beginning, such as
            `"2s"`; or the name of an earlier program, which must have begun to listen (TCP),
            have run for a second, or have ended.
        env: Environment variables.
        background: Whether the lab ends without waiting for it: a server that goes on for
            ever. Default: false.
        tenant: Tenant that its work requests belong to; left out, the first.
    """

    name: str
    host: int
    command: List[str]
    after: Optional[str] = None
    env: Optional[dict[str, str]] = None
    background: Optional[bool] = None
    tenant: Optional[str] = None

#: What happens to a program.
LabAction = Literal["kill", "stop", "continue"]


@dataclass
class LabFault(Section):
    """What happens to a program on purpose.

    Attributes:
        program: The program, by name. If it doesn't run then, nothing happens.
        at: When, in the fabric's time.
        action: What.
    """

    program: str
    at: Duration
    action: LabAction


@dataclass
class Lab(Section):
    """Real programs at hosts, for `fairlane lab`.

    Attributes:
        scale: How much slower than real time the fabric goes; `"auto"`: so much that it
            keeps up with programs at its hosts. Default: "auto".
        program: Programs that are started. Default: [].
        fault: What happens to programs on purpose. Default: [].
    """

    scale: Optional[Union[float, Literal["auto"]]] = None
    program: Optional[List[LabProgram]] = None
    fault: Optional[List[LabFault]] = None
