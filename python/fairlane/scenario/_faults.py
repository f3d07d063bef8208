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
        between: The nodes at its ends, as in `[0, 16]`.
        down: When it goes down; its packets and pauses are lost.
        index: Which of several links between them, from 0 in the order of the topology;
            left out, all.
        up: When it comes back; left out, never.
    """

    between: List[int]
    down: Duration
    index: Optional[int] = None
    up: Optional[Duration] = None


@dataclass
class SlowLink(Section):
    """A link that runs below its rate, each way and all the time, as one does that has lost
    some of its lanes.

    Attributes:
        between: The nodes at its ends.
        rate: Its rate in both directions, for the whole run. Range: 1Mbps to 8Tbps.
        index: Which of several links between them, from 0 in the order of the topology;
            left out, all.
    """

    between: List[int]
    rate: Rate
    index: Optional[int] = None


@dataclass
class PauseFault(Section):
    """A host that pauses what its switch sends to it: a broken NIC, or one that somebody
    misuses.

    Attributes:
        host: The host.
        duration: Length of a pause, kept up by frames twice as often as IEEE 802.3
            requires. Range: above 0.
        class_: Traffic class that it pauses. Range: 1 to 7. Default: 3.
        start: When it begins. Default: "0ps".
        period: Time from the start of a pause to that of the next; left out, there is one.
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
        loss_rate: Packet loss probability of links that state none. Range: 0 to below 1.
            Default: 0.0.
        link: Links that change. Default: [].
        slow: Links slower than in the topology, for example with failed lanes; not under
            `hpcc-ns3`. Default: [].
        pause: Hosts that pause their switch; needs `switch.pfc.enabled`. Default: [].
    """

    loss_rate: Optional[float] = None
    link: Optional[List[LinkFault]] = None
    slow: Optional[List[SlowLink]] = None
    pause: Optional[List[PauseFault]] = None
