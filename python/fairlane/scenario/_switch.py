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
        reserve: Buffer reserved for each ingress port and class. Source: HPCC's artefact.
            Range: at most 1024GiB. Default: "4KiB".
        resume_offset: A pause ends when shared-buffer use is this far below the threshold.
            Source: HPCC's artefact. Range: at most 1024GiB. Default: "3KiB".
        threshold_shift: Pause threshold: free shared buffer / 2^shift at host speed; the
            shift is one less for each doubling of the port's rate. Source: HPCC's artefact.
            Range: 0 to 32. Default: 3.
        xoff: Fixed pause threshold instead: shared buffer that one ingress port and class
            uses. At least `resume_offset`; the buffer must hold it for all ports and classes
            together. Range: 1B to 1024GiB.
        headroom_delays: Headroom of an ingress port in multiples of rate x link delay;
            `"lossless"`: just enough to lose nothing. Range: 0 to 1000. Default: "lossless".
        watchdog: A switch port paused this long without a break ignores pauses for
            `watchdog_restore`; `"never"`: off. Source: HPCC's artefact has none. Range: above
            0. Default: "never".
        watchdog_restore: How long it ignores them. Source: SONiC, `pfcwd start_default`.
            Range: above 0. Default: "200ms".
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
        rate: Rate of the port. Range: 1Mbps to 8Tbps.
        kmin: No marks at or below this queue length. Range: at most 1024GiB.
        kmax: Every packet is marked above this queue length. Range: at most 1024GiB.
        pmax: Probability of a mark just below kmax. Range: 0 to 1.
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
        kmin_per_gbps: No marks below this queue length, per Gb/s of the port; left out, 4
            kB, for DCTCP and InfiniBand 3 kB. Source: HPCC, section 5.1: 100 KB at 25 Gb/s.
            Range: at most 1GiB.
        kmax_per_gbps: Every packet is marked above this queue length, per Gb/s of the port;
            left out, 16 kB, for DCTCP and InfiniBand 3 kB. Source: HPCC, section 5.1: 400 KB at
            25 Gb/s. Range: at most 1GiB.
        pmax: Probability of a mark just below kmax, rising linearly from 0 at kmin; left
            out, 0.2, for DCTCP and InfiniBand 1. Source: HPCC's artefact. Range: 0 to 1.
        host_ports: Whether ports that face hosts mark; if not, suppressed marks are counted
            as `filtered_marks`. Left out, they do unless receivers divide their links
            (`congestion.dasr.mode`). Under `hpcc-ns3` only `true`.
        threshold: Thresholds by port rate; if any, every rate of a switch port needs one.
            Default: [].
    """

    enabled: Optional[bool] = None
    kmin_per_gbps: Optional[Bytes] = None
    kmax_per_gbps: Optional[Bytes] = None
    pmax: Optional[float] = None
    host_ports: Optional[bool] = None
    threshold: Optional[List[EcnThreshold]] = None

#: In which order the packets of an egress queue leave.
Arbitration = Literal["fifo", "ingress"]


@dataclass
class ClassSchedule(Section):
    """When a traffic class sends: `strict = true`, or a `weight`. Class 0, control, is before
    all of them.

    Attributes:
        class_: The class. Range: 1 to 7.
        strict: Whether it goes before classes of a lower number and before all with
            weights.
        weight: Its share of what strict classes leave, in proportion to the weights of
            other classes that have packets, by bytes (DWRR). Percentages of ETS are such
            weights. Range: 1 to 1000.
    """

    class_: int
    strict: Optional[bool] = None
    weight: Optional[int] = None

#: How switches choose among equally short paths.
Forwarding = Literal["ecmp", "flowlet", "spray", "adaptive", "iofd"]


@dataclass
class FlowletParameters(Section):
    """Parameters of forwarding `flowlet`.

    Attributes:
        gap: A flow that was idle at a switch for longer may take another port. Source:
            ConWeave (SIGCOMM 2023), artefact. Range: 1ns to 1s. Default: "100us".
        entries: Size of a switch's flow table; flows with the same entry count as one.
            Source: CONGA (SIGCOMM 2014), section 3.4. Range: 1 to 1048576. Default: 65536.
    """

    gap: Optional[Duration] = None
    entries: Optional[int] = None


@dataclass
class IofdParameters(Section):
    """Parameters of forwarding `iofd`, in-order flow deflection.

    Attributes:
        trigger: A flow moves if more bytes than this are queued at its port. Range: 1B to
            1024GiB. Default: "50kB".
        target: It moves to an unpaused port with fewer bytes queued than this; at most half
            of `trigger`. Range: 1B to 1024GiB. Default: "25kB".
        interval: Least time between two moves away from a port. Default: "2us".
        moved: Bytes of a flow that must pass a switch between two moves there. Range: at
            most 1024GiB. Default: "10kB".
        labels: How many switches may move the flow of a packet: labels that the packet
            carries. Range: 1 to 4. Default: 2.
        valley: Whether flows may also go down to another switch and up again. Each label
            then takes a traffic class above the flow's, up to 7; the fabric must have tiers.
            Default: false.
        streams: Flows that a switch can track; others don't move there. Range: 1 to 65536.
            Default: 4096.
        hold: Buffer of the last switch before the host for packets that must wait for
            earlier ones; packets that don't fit are lost. Range: 1B to 1024GiB. Default: "4MB".
        hold_timeout: A packet held for longer is lost, with all held packets of its flow.
            Range: above 0. Default: "1ms".
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
        buffer: Shared packet buffer of a switch. Source: HPCC, section 5.1. Range: 1B to
            1024GiB. Default: "32MiB".
        pfc: Priority flow control.
        ecn: Marking. Default: {"enabled": true}.
        arbitration: Order of the packets of an egress queue. Default: "fifo".
        class_: When each traffic class sends at a port; left out, classes take turns,
            packet by packet. Default: [].
        tenant_feedback: Whether ports give each tenant feedback (marks, telemetry) by its
            own use of its share. Default: false.
        feedback_interval: Measurement interval of these ports. Source: a round trip of a
            three-tier fabric with links of 1 us. Range: 1ns to 1s. Default: "12us".
        forwarding: Choice among equally short paths; under `hpcc-ns3` only `"ecmp"`.
            Default: "ecmp".
        flowlet: Parameters of forwarding `flowlet`. Default: {"gap": "100us", "entries":
            65536}.
        iofd: Parameters of forwarding `iofd`.
    """

    buffer: Optional[Bytes] = None
    pfc: Pfc = field(default_factory=lambda: Pfc())
    ecn: Ecn = field(default_factory=lambda: Ecn())
    arbitration: Optional[Arbitration] = None
    class_: Optional[List[ClassSchedule]] = None
    tenant_feedback: Optional[bool] = None
    feedback_interval: Optional[Duration] = None
    forwarding: Optional[Forwarding] = None
    flowlet: FlowletParameters = field(default_factory=lambda: FlowletParameters())
    iofd: IofdParameters = field(default_factory=lambda: IofdParameters())
