"""Faults of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from fairlane._section import Section
from fairlane.scenario._units import Duration, Rate


@dataclass
class LinkFault(Section):
    """A link goes down and maybe comes back.

    Attributes:
        between: The nodes at its ends.
        down: When it goes down; what it carries and what waits for it is lost.
        up: When it comes back; left out, never.
    """

    between: List[int]
    down: Duration
    up: Optional[Duration] = None


@dataclass
class SlowLink(Section):
    """A link that runs below its rate, each way and all the time, as one does that has lost
    some of its lanes.

    Attributes:
        between: The nodes at its ends.
        rate: What it runs at.
    """

    between: List[int]
    rate: Rate


@dataclass
class PauseFault(Section):
    """A host that pauses what its switch sends to it: a broken NIC, or one that somebody
    misuses.

    Attributes:
        host: Node number of the host.
        duration: How long one pause lasts; the host repeats its frames so that it doesn't
            lapse.
        class_: Traffic class that it pauses, 1 to 7. Default: 3.
        start: When it begins. Default: "0ps".
        period: Time from the beginning of a pause to that of the next; left out, there is
            one.
    """

    host: int
    duration: Duration
    class_: Optional[int] = None
    start: Optional[Duration] = None
    period: Optional[Duration] = None


@dataclass
class Faults(Section):
    """Loss, and links that go down and come back.

    Attributes:
        loss_rate: Probability that a link loses a packet, for links that state none
            themselves. Default: 0.0.
        link: Links that change at given times.
        slow: Links that are slower than the topology says.
        pause: Hosts that pause what their switch sends to them.
    """

    loss_rate: Optional[float] = None
    link: Optional[List[LinkFault]] = None
    slow: Optional[List[SlowLink]] = None
    pause: Optional[List[PauseFault]] = None
