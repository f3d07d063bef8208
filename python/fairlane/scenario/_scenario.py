"""Scenario of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional

from fairlane._section import Section
from fairlane.scenario._attack import Attack
from fairlane.scenario._congestion import Congestion
from fairlane.scenario._faults import Faults
from fairlane.scenario._lab import Lab
from fairlane.scenario._multipath import Multipath
from fairlane.scenario._nic import Nic
from fairlane.scenario._output import Output
from fairlane.scenario._packet import PacketSizes
from fairlane.scenario._profile import Profile
from fairlane.scenario._switch import Switch
from fairlane.scenario._tenant import Tenant
from fairlane.scenario._topology import Topology
from fairlane.scenario._transport import Transport
from fairlane.scenario._units import CapturePoint
from fairlane.scenario._workload import Workload


@dataclass
class Scenario(Section):
    """One fabric, its traffic and the policies that it runs under.

    Attributes:
        name: Name in tables and reports; left out, the file's name without extension.
            Default: "unnamed".
        seed: Seed of all random streams. Range: 0 to 9223372036854775807. Default: 1.
        profile: Rounding, ordering and hashing of the simulated fabric. Default: "exact".
        stop: Simulated time at which the run ends, finished or not; `"never"`: when all
            messages are complete. Range: above 0. Default: "never".
        capture: Ports whose packets are captured in both directions for `fairlane export
            pcap`: `"host:3"`, `"switch:7"` (all ports of node 7), `"switch:7/port:2"` (ports
            count from 1). Takes 64 bytes of memory per packet. Default: [].
        output: What is recorded. Default: {"trace_nodes": []}.
        packet: Sizes on the wire.
        switch: Buffers, pauses and marks of switches.
        nic: NICs of hosts. Default: {"ack_pause": "own-class"}.
        transport: The queue-pair protocol.
        congestion: Congestion control and its scope.
        multipath: How messages are divided among paths; left out, each takes one.
        topology: Hosts, switches and links.
        faults: Loss, and links that go down and come back. Default: {"loss_rate": 0.0}.
        tenant: Who the hosts send for; left out, one tenant called "default" with all
            hosts. Default: [].
        attack: What a tenant does to take more than its share; left out, all are honest.
        lab: Real programs at hosts, for `fairlane lab`; left out, none.
        workload: What the hosts send. Default: [].
    """

    name: Optional[str] = None
    seed: Optional[int] = None
    profile: Optional[Profile] = None
    stop: Optional[str] = None
    capture: Optional[List[CapturePoint]] = None
    output: Output = field(default_factory=lambda: Output())
    packet: PacketSizes = field(default_factory=lambda: PacketSizes())
    switch: Switch = field(default_factory=lambda: Switch())
    nic: Nic = field(default_factory=lambda: Nic())
    transport: Transport = field(default_factory=lambda: Transport())
    congestion: Congestion = field(default_factory=lambda: Congestion())
    multipath: Optional[Multipath] = None
    topology: Optional[Topology] = None
    faults: Faults = field(default_factory=lambda: Faults())
    tenant: Optional[List[Tenant]] = None
    attack: Optional[Attack] = None
    lab: Optional[Lab] = None
    workload: Optional[List[Workload]] = None
