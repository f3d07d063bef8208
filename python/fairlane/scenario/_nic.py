"""Nic of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Optional

from fairlane._section import Section
from fairlane.scenario._units import Bytes, Duration, Rate

#: Which pauses hold back acknowledgements at the host that sends them.
AckPause = Literal["own-class", "class3", "never"]

#: How applications share a NIC.
Policy = Literal["raw", "share", "drum", "justitia"]


@dataclass
class Costs(Section):
    """What a work request costs at the host and at its NIC. docs/nic.md has the calibration.

    Attributes:
        doorbell: From the end of the thread's write to a doorbell register until the NIC
            has it. Default: "250ns".
        wqe_fetch: Round trip of a PCIe read of work requests by the NIC. Default: "500ns".
        wqes_per_fetch: Work requests in one such read, at least 1. Default: 4.
        wqe_bytes: Bytes of a work request. Default: "64B".
        pcie_rate: Bandwidth of the NIC's PCIe link, one way. Default: "63.015Gbps".
        processing: Time of the NIC for one work request, one after the other. Default:
            "300ns".
        pipeline: Work requests that the NIC has begun and not yet put on the wire at most,
            at least 1. Default: 2.
        cache_entries: Connections whose state the NIC keeps, least recently used first to
            go, at least 1. Default: 20.
        cache_miss: Fetch of the state of a connection that isn't kept, one after the other.
            Default: "500ns".
        receive_buffer: Packets that wait for that at the receiver: with more, the NIC takes
            none of their class from the link, until there is half as much. Default: "64KiB".
        cqe_write: From the end of a work request at the NIC until its completion is in host
            memory. Default: "250ns".
        post: Processor time to write one work request. Default: "50ns".
        poll: Processor time of a poll that finds completions. Default: "50ns".
        cqe: Processor time for each completion found. Default: "50ns".
        lock: Processor time to take and release the lock of a shared queue pair. Default:
            "50ns".
        lock_contention: Further time to take it, for each other thread that contends for
            it. Default: "100ns".
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
        ratio: Connections that share one queue pair at most, at least 1. Default: 5.
    """

    ratio: Optional[int] = None


@dataclass
class Drum(Section):
    """The agent that schedules by DRUM (S0).

    Attributes:
        active: Queue pairs active at a time at most (k), at least 1. Default: 20.
        epoch: How long those stay active before others take their place. Default: "40us".
        window: Work requests that the agent has posted and not seen completed at most, at
            least 1. Default: 16.
        window_bytes: Payload of those: the agent posts nothing further once it has this
            much under way. Default: "20kB".
        linger: A queue pair without work keeps its place for so long although others wait.
            Default: "8us".
        alpha: The fairness exponent of the utility. Default: 0.5.
        beta: Exchange rate between throughput and latency utility. Default: 0.0.
    """

    active: Optional[int] = None
    epoch: Optional[Duration] = None
    window: Optional[int] = None
    window_bytes: Optional[Bytes] = None
    linger: Optional[Duration] = None
    alpha: Optional[float] = None
    beta: Optional[float] = None


@dataclass
class Justitia(Section):
    """Token pacing with a latency target, after Justitia (NSDI 2022). docs/nic.md names what
    is left out.

    Attributes:
        latency_target: Completion time that latency-sensitive applications are to have at
            most. Default: "10us".
        chunk: Larger messages of paced applications are split into pieces of this size.
            Default: "5kB".
        interval: Time between adjustments of the rate. Default: "100us".
        min_rate: The rate of tokens never falls below this. Default: "4Gbps".
    """

    latency_target: Optional[Duration] = None
    chunk: Optional[Bytes] = None
    interval: Optional[Duration] = None
    min_rate: Optional[Rate] = None


@dataclass
class Nic(Section):
    """NICs of hosts.

    Attributes:
        ack_pause: Which pauses hold back acknowledgements at the host. Default: "own-
            class".
        policy: How applications of `key-value` workloads share the NIC.
        costs: What work requests cost; left out, nothing, and the NIC remembers every
            connection.
        share: Policy `share`.
        drum: Policy `drum`.
        justitia: Policy `justitia`.
    """

    ack_pause: Optional[AckPause] = None
    policy: Optional[Policy] = None
    costs: Optional[Costs] = None
    share: Share = field(default_factory=lambda: Share())
    drum: Drum = field(default_factory=lambda: Drum())
    justitia: Justitia = field(default_factory=lambda: Justitia())
