"""Switch of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Literal, Optional, Union

from fairlane._section import Section
from fairlane.scenario._units import Bytes, Duration, Rate


@dataclass
class Pfc(Section):
    """Priority flow control.

    Attributes:
        enabled: Whether switches pause their neighbours; without, a full buffer drops.
            Default: true.
        reserve: Buffer reserved for each ingress port and class. Default: "4KiB".
        resume_offset: A pause ends when the use of shared buffer is this far below the
            threshold. Default: "3KiB".
        threshold_shift: The pause threshold is the free shared buffer / 2^shift, for ports
            at host speed; the shift is one less for each doubling of the port's rate above it.
            Default: 3.
        xoff: A fixed pause threshold, for the shared buffer that one ingress port and class
            uses, in place of that share.
        headroom_delays: Headroom of an ingress port in multiples of rate x link delay;
            `"lossless"`: just enough that nothing is lost. Default: "lossless".
        watchdog: After a port of a switch has been paused this long without a break, it
            ignores pauses for `watchdog_restore`; `"never"`: it always obeys. Default: "never".
        watchdog_restore: How long a port whose watchdog has bitten ignores pauses. Default:
            "200ms".
    """

    enabled: Optional[bool] = None
    reserve: Optional[Bytes] = None
    resume_offset: Optional[Bytes] = None
    threshold_shift: Optional[int] = None
    xoff: Optional[Bytes] = None
    headroom_delays: Optional[Union[int, Literal["lossless"]]] = None
    watchdog: Optional[str] = None
    watchdog_restore: Optional[Duration] = None


@dataclass
class EcnThreshold(Section):
    """Marking thresholds of the ports of one rate.

    Attributes:
        rate: The port's rate.
        kmin: No marks at or below this queue length.
        kmax: Every packet is marked above this queue length.
        pmax: Probability of a mark at kmax.
    """

    rate: Rate
    kmin: Bytes
    kmax: Bytes
    pmax: float


@dataclass
class Ecn(Section):
    """RED-style marking at egress.

    Attributes:
        enabled: Whether switches mark. Default: true.
        kmin_per_gbps: No marks below this queue length, per Gb/s of the port; left out,
            what the congestion control was published with, as for the next two.
        kmax_per_gbps: Every packet is marked above this queue length, per Gb/s of the port.
        pmax: Probability of a mark just below kmax, rising linearly from 0 at kmin.
        host_ports: Whether ports that face hosts mark; left out, unless receivers divide
            their links (`congestion.dasr`).
        threshold: Thresholds by port rate; if any is given, every rate of a switch port
            needs one.
    """

    enabled: Optional[bool] = None
    kmin_per_gbps: Optional[Bytes] = None
    kmax_per_gbps: Optional[Bytes] = None
    pmax: Optional[float] = None
    host_ports: Optional[bool] = None
    threshold: Optional[List[EcnThreshold]] = None

#: In which order the packets of an egress queue leave.
Arbitration = Literal["fifo", "ingress"]

#: How switches choose among equally short paths.
Forwarding = Literal["ecmp", "flowlet", "spray", "adaptive", "iofd"]


@dataclass
class FlowletParameters(Section):
    """Parameters of forwarding `flowlet`.

    Attributes:
        gap: A flow that has been silent at a switch for longer than this may take another
            port. Default: "100us".
        entries: Entries of a switch's table; flows with the same entry count as one.
            Default: 65536.
    """

    gap: Optional[Duration] = None
    entries: Optional[int] = None


@dataclass
class IofdParameters(Section):
    """Parameters of forwarding `iofd`, in-order flow deflection.

    Attributes:
        trigger: A flow moves if more bytes than this wait at its port. Default: "50kB".
        target: It moves to a port at which fewer bytes than this wait. Default: "25kB".
        interval: Flows leave a port no sooner after each other. Default: "2us".
        moved: A flow moves at a switch once more bytes than this have passed there since it
            did so last. Default: "10kB".
        labels: Labels that a packet may carry: switches on its way that have moved its
            flow. Default: 2.
        valley: Whether flows may also go down to another switch and up again. Default:
            false.
        streams: Flows that a switch can keep track of; others don't move. Default: 4096.
        hold: Room for packets that the last switch before their host holds until those
            before them have passed. Default: "4MB".
        hold_timeout: A packet that is held for longer is lost, with everything else that is
            held of its flow. Default: "1ms".
    """

    trigger: Optional[Bytes] = None
    target: Optional[Bytes] = None
    interval: Optional[Duration] = None
    moved: Optional[Bytes] = None
    labels: Optional[int] = None
    valley: Optional[bool] = None
    streams: Optional[int] = None
    hold: Optional[Bytes] = None
    hold_timeout: Optional[Duration] = None


@dataclass
class Switch(Section):
    """Buffers, pauses and marks of switches, and where packets go.

    Attributes:
        buffer: Shared packet buffer of one switch. Default: "32MiB".
        pfc: Priority flow control.
        ecn: Marking. Default: {"enabled": true}.
        arbitration: In which order the packets of an egress queue leave.
        tenant_feedback: Whether ports tell tenants of their load (marks and telemetry) by
            what each uses of its part: a tenant below it hears less. Needs switches that count
            by port and tenant.
        feedback_interval: How often those ports look who uses what.
        forwarding: How a switch chooses among equally short paths.
        flowlet: Parameters of forwarding `flowlet`.
        iofd: Parameters of forwarding `iofd`.
    """

    buffer: Optional[Bytes] = None
    pfc: Pfc = field(default_factory=lambda: Pfc())
    ecn: Ecn = field(default_factory=lambda: Ecn())
    arbitration: Optional[Arbitration] = None
    tenant_feedback: Optional[bool] = None
    feedback_interval: Optional[Duration] = None
    forwarding: Optional[Forwarding] = None
    flowlet: FlowletParameters = field(default_factory=lambda: FlowletParameters())
    iofd: IofdParameters = field(default_factory=lambda: IofdParameters())
