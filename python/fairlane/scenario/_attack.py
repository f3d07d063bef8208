"""Attack of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from fairlane._section import Section
from fairlane.scenario._units import Bytes, Duration, HostSet, Rate

#: What an attacker does.
AttackKind = Literal[
    "parallel",
    "staggered",
    "shuffled-overlay",
    "churn",
    "rotating-incast",
    "pulse",
    "pfc-storm",
    "cache-flood",
    "nic-hog",
    "paced",
]


@dataclass
class Attack(Section):
    """What a tenant does to take more than its share, or to harm others; docs/attacks.md
    describes each kind. Kinds that don't cut messages are traffic of their own, which takes
    the place of the tenant's messages.

    Attributes:
        kind: What it does.
        tenant: The attacker; left out, the first tenant.
        honest: Whether the same hosts send as much honestly instead. Default: false.
        above: Larger messages are cut; left out, 1 MB. Without it `shuffled-overlay` cuts
            none, and sends traffic of its own. Range: 1B to 4294967295B.
        piece: Size of a piece, burst or message; left out, the fabric's largest bandwidth-
            delay product. Range: 1B to 4294967295B.
        qps: Under `parallel`, number of equal parts, instead of `piece`. Queue pairs of
            each host under `nic-hog`, left out 64; connections under `cache-flood`, left out
            four times `nic.costs.cache_entries`. Range: 1 to 65536.
        gap: Time between two pieces; left out, the largest base round-trip time. Range:
            above 0.
        rings: Rings in use at a time; left out, 1. Range: 1 to 4.
        bdps: Bandwidth-delay products to each destination, instead of `piece`; left out, 1.
            Range: 1 to 60.
        outstanding: Pieces under way per host, or per ring of it, left out 2; rounds under
            `rotating-incast`, left out 1. Range: 1 to 1024.
        rate: Payload rate of each host; `paced` needs it. Range: 1Mbps to 8Tbps.
        host: The host that pauses; left out, the tenant's last.
        pause: Length of a pause; left out, as long as the attack. Range: above 0.
        period: Time from burst to burst under `pulse`, at most as long as the attack; left
            out, the longest period among the algorithm's parameters, at least eight base round-
            trip times. From pause to pause under `pfc-storm`, more than `pause` and than two
            pause frames take on the host's link; left out, one pause only. Least time from
            round to round under `rotating-incast`; left out, none. Range: above 0.
        value: Size of every value; left out, 64 B. Range: 1B to 4294967295B.
        sources: Hosts of the tenant that send; left out, those that its workloads send
            from.
        destinations: Hosts that receive; left out, those of the tenant's that its workloads
            send to. Hosts read from under `cache-flood`; left out, all others.
        start: When traffic of its own begins; left out, at 0.
        duration: How long it goes on; left out, until the scenario's `stop`, else until the
            last message of a workload is due. Range: above 0.
    """

    kind: AttackKind
    tenant: Optional[str] = None
    honest: Optional[bool] = None
    above: Optional[Bytes] = None
    piece: Optional[Bytes] = None
    qps: Optional[int] = None
    gap: Optional[Duration] = None
    rings: Optional[int] = None
    bdps: Optional[int] = None
    outstanding: Optional[int] = None
    rate: Optional[Rate] = None
    host: Optional[int] = None
    pause: Optional[Duration] = None
    period: Optional[Duration] = None
    value: Optional[Bytes] = None
    sources: Optional[HostSet] = None
    destinations: Optional[HostSet] = None
    start: Optional[Duration] = None
    duration: Optional[Duration] = None
