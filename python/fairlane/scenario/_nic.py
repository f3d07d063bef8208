"""Nic of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Literal, Optional

from fairlane._section import Section
from fairlane.scenario._switch import ClassSchedule
from fairlane.scenario._units import Bytes, Duration, Rate

#: Which pauses hold back acknowledgements at the host that sends them.
AckPause = Literal["own-class", "class3", "never"]

#: How applications share a NIC.
Policy = Literal["raw", "share", "drum", "justitia"]


@dataclass
class Costs(Section):
    """What a work request costs at the host and at its NIC. docs/nic.md has the calibration.

    Attributes:
        doorbell: From the end of the write to a doorbell register until the NIC has it.
            Source: half a PCIe round trip. Default: "250ns".
        wqe_fetch: Round trip of a PCIe read of work requests by the NIC. Source: Neugebauer
            et al., SIGCOMM 2018, section 6. Default: "500ns".
        wqes_per_fetch: Work requests per read. Source: a read of 256 bytes. Range: 1 to
            65536. Default: 4.
        wqe_bytes: Bytes of a work request. Source: ConnectX's blocks. Range: at most 64KiB.
            Default: "64B".
        pcie_rate: Bandwidth of the NIC's PCIe link, one way. Source: PCIe 3.0 x8. Range:
            1Mbps to 64Tbps. Default: "63.015Gbps".
        processing: NIC time per work request, one at a time. Source: DRUM (S0), figure 8:
            20 connections in 7.1 us. Default: "300ns".
        pipeline: Most work requests begun and not yet on the wire. Source: DRUM (S0),
            figure 2a: what is posted first leaves first. Range: 1 to 65536. Default: 2.
        cache_entries: Connections in the NIC's cache, replaced least recently used first.
            Source: DRUM (S0), figure 2c. Range: 1 to 16777216. Default: 20.
        cache_miss: Fetch of a connection that isn't cached, one at a time. Source: a PCIe
            read. Default: "500ns".
        receive_buffer: Bytes of packets waiting for such fetches at the receiver; above it,
            the NIC pauses their class at its switch until half is left, if `switch.pfc` is on.
            Source: the order of an InfiniBand port's buffers. Range: 1B to 1024GiB. Default:
            "64KiB".
        cqe_write: From the end of a work request at the NIC until its completion is in host
            memory. Default: "250ns".
        post: Processor time to write a work request. Source: Kalia et al., ATC 2016,
            section 3: tens of nanoseconds. Default: "50ns".
        poll: Processor time of a poll that finds completions. Default: "50ns".
        cqe: Processor time per completion found. Default: "50ns".
        lock: Processor time to take and release the lock of a shared queue pair. Default:
            "50ns".
        lock_contention: Extra time to take it for each other contending thread. Source:
            David et al., SOSP 2013, table 2. Default: "100ns".
        handoff: From an application to an agent thread or back, through shared memory.
            Default: "200ns".
    """

    doorbell: Optional[Duration] = None
    wqe_fetch: Optional[Duration] = None
    wqes_per_fetch: Optional[int] = None
    wqe_bytes: Optional[Bytes] = None
    pcie_rate: Optional[Rate] = None
    processing: Optional[Duration] = None
    pipeline: Optional[int] = None
    cache_entries: Optional[int] = None
    cache_miss: Optional[Duration] = None
    receive_buffer: Optional[Bytes] = None
    cqe_write: Optional[Duration] = None
    post: Optional[Duration] = None
    poll: Optional[Duration] = None
    cqe: Optional[Duration] = None
    lock: Optional[Duration] = None
    lock_contention: Optional[Duration] = None
    handoff: Optional[Duration] = None


@dataclass
class Share(Section):
    """Queue pairs shared behind locks (FaRM, NSDI 2014, section 3; DRUM (S0), section IV).

    Attributes:
        ratio: Most connections per shared queue pair. Source: DRUM (S0), section IV.B.
            Range: 1 to 65536. Default: 5.
    """

    ratio: Optional[int] = None


@dataclass
class Drum(Section):
    """The agent that schedules by DRUM (S0).

    Attributes:
        active: Most queue pairs active at a time (k). Source: DRUM (S0), section III.D.
            Range: at least 1. Default: 20.
        epoch: Time that they stay active before others replace them. Source: several round
            trips of a small READ. Range: above 0. Default: "40us".
        window: Most work requests of the agent posted and not completed; each active queue
            pair may always have one. Source: 4 us of a NIC that takes one in 0.3 us. Range: at
            least 1. Default: 16.
        alpha: Fairness exponent of the utility. Source: DRUM (S0), section III.D. Range: 0
            to 64. Default: 0.5.
        beta: Weight of latency against throughput utility. Range: 0 to 1000000. Default:
            0.0.
    """

    active: Optional[int] = None
    epoch: Optional[Duration] = None
    window: Optional[int] = None
    alpha: Optional[float] = None
    beta: Optional[float] = None


@dataclass
class Justitia(Section):
    """Token pacing with a latency target, after Justitia (NSDI 2022). docs/nic.md names what
    is left out.

    Attributes:
        latency_target: Target completion time of latency-sensitive applications. Range:
            above 0. Default: "10us".
        chunk: Larger messages of paced applications are split into pieces of this size.
            Range: 1B to 1024GiB. Default: "5kB".
        interval: Time between adjustments of the rate. Range: above 0. Default: "100us".
        min_rate: Lowest rate of tokens. Range: 1Mbps to 8Tbps. Default: "4Gbps".
    """

    latency_target: Optional[Duration] = None
    chunk: Optional[Bytes] = None
    interval: Optional[Duration] = None
    min_rate: Optional[Rate] = None


@dataclass
class Nic(Section):
    """NICs of hosts.

    Attributes:
        ack_pause: Which pauses stop acknowledgements at the sending host. Default: "own-
            class".
        class_: When each traffic class sends, behind acknowledgements and CNPs; left out,
            queue pairs take turns whatever their classes are. Needs `congestion.scope` `"qp"`
            or `"none"`. Default: [].
        policy: How applications of `key-value` workloads share the NIC. Default: "raw".
        costs: What work requests cost; left out, nothing, and the NIC remembers every
            connection.
        share: Policy `share`. Default: {"ratio": 5}.
        drum: Policy `drum`.
        justitia: Policy `justitia`.
    """

    ack_pause: Optional[AckPause] = None
    class_: Optional[List[ClassSchedule]] = None
    policy: Optional[Policy] = None
    costs: Optional[Costs] = None
    share: Share = field(default_factory=lambda: Share())
    drum: Drum = field(default_factory=lambda: Drum())
    justitia: Justitia = field(default_factory=lambda: Justitia())
