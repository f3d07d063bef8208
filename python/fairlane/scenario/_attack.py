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
    """What a tenant does to take more than its share, or to harm others. docs/attacks.md
    describes each kind and says which keys it has; what is left out has the default that
    stands there. Kinds that don't cut messages are traffic of their own, which takes the
    place of the tenant's messages.

    Attributes:
        kind: What the tenant does.
        tenant: Who attacks; left out, the first tenant.
        honest: Whether the same hosts send as much honestly instead, for comparison.
        above: Messages larger than this are cut: 1MB. `shuffled-overlay` cuts messages only
            if it is stated, and is traffic of its own otherwise.
        piece: Size of a piece, a message or a burst: the bandwidth-delay product.
        qps: Queue pairs: equal parts of a message under `parallel`, instead of `piece`; of
            each host under `nic-hog`, 64, and `cache-flood`, four times what its NIC keeps.
        gap: Time between two pieces of a message: the base round-trip time.
        rings: Rings in use at the same time, 1 to 4: 1.
        bdps: Bandwidth-delay products to each destination, 1 to 60, instead of `piece`: 1.
        outstanding: Pieces that a host, or each of its rings, has under way: 2. Under
            `rotating-incast` rounds: 1.
        rate: Payload of each host: `paced` needs it.
        host: The host that pauses: the last of the tenant's.
        pause: How long one pause lasts: as long as the attack.
        period: Time from burst to burst under `pulse`: after which the algorithm raises a
            rate again. From pause to pause under `pfc-storm`: there is one. From round to round
            under `rotating-incast`: as soon as `outstanding` allows.
        value: The size of every value: 64 B.
        sources: The hosts that send: those that the tenant's workloads send from.
        destinations: The hosts that receive: those of the tenant's that its workloads send
            to; under `cache-flood` those that don't ask.
        start: When traffic of its own begins: at once.
        duration: How long it goes on: until the run stops, or, if nothing stops it, until
            the last message of a workload is due. The run ends with it.
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
