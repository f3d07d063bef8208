"""Multipath of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Literal, Optional, Union

from fairlane._section import Section
from fairlane.scenario._units import Bytes, Duration

#: Which messages share a connection.
Connections = Literal["message", "pair"]

#: How chunks are divided among paths.
BalancerKind = Literal[
    "static-even",
    "proportional",
    "completion",
    "least-delay",
    "two-choices",
    "round-robin",
    "spray",
    "reps",
]

#: How the size of chunks is limited.
LimiterKind = Literal["fixed", "doubling", "adaptive"]

#: How messages that need a receive at the other end cross, when they are larger than
#: [`Settings::single_send`].
TwoSided = Literal["write-then-send", "stream"]

#: The word for consecutive ports.
NextPorts = Literal["ports"]

#: What tells the paths of a connection apart: their UDP source ports.
Plan = Union[NextPorts, List[int], dict[str, str]]

#: How paths that take the same way are found, of which one is used.
Twins = Literal["route", "probe", "keep"]


@dataclass
class PathCosts(Section):
    """Processor time of the one thread that drives all connections of a host, in both
    directions.

    Attributes:
        post: To post a work request. Source: Kalia et al., ATC 2016, section 3: tens of
            nanoseconds. Range: at most 1ms. Default: "50ns".
        poll: To poll a completion. Range: at most 1ms. Default: "50ns".
        split: To cut a chunk off its message and choose its path. Source:
            `benches/src/multipath.rs`. Range: at most 1ms. Default: "43ns".
        reassemble: To put a chunk into its message where it arrives. Source: the same.
            Range: at most 1ms. Default: "16ns".
    """

    post: Optional[Duration] = None
    poll: Optional[Duration] = None
    split: Optional[Duration] = None
    reassemble: Optional[Duration] = None


@dataclass
class Multipath(Section):
    """Several queue pairs for each connection, and who gets what; docs/multipath.md has the
    mechanisms.

    Attributes:
        paths: Queue pairs per connection; 1: ordinary messages. The key `paths` of a
            workload overrides it. Range: 1 to 1024. Default: 8.
        connections: Which messages share a connection; left out, what is usual for the kind
            of workload, whose key `connections` overrides this. Also holds for messages with
            one path.
        balancer: Chooses the path of the next chunk. Default: "completion".
        limiter: Limits the chunk size. Default: "fixed".
        message_limit: Largest message that a queue pair takes. Source: IBTA, volume 1,
            section 9.7.7. Range: 1B to 2GiB. Default: "2GiB".
        chunk: Size of chunks under limiter `fixed`, and of the first under others. Source:
            UCCL; S1, figure 10: up to 32 KiB costs no time, but it charges nothing per chunk.
            Range: 1B to `message_limit`. Default: "64KiB".
        chunk_least: Smallest chunk of limiters that change it, and their linear step.
            Source: UCX, which splits from 16 KiB. Range: 1B to `message_limit`. Default:
            "16KiB".
        chunk_most: Largest chunk of limiters that change it. Source: HCCL, which splits
            from 512 KiB per queue pair. Range: `chunk_least` to `message_limit`. Default:
            "512KiB".
        depth: Chunks in flight on each path. Source: S1, section III.B: "equal and small
            amount" for each queue pair. One on the wire, one waiting. Range: 1 to 16384.
            Default: 2.
        messages: Messages of a connection that are posted and not complete. Range: 1 to
            1048576. Default: 128.
        single_send: Two-sided messages up to this size are one SEND. Source: UCX, below
            whose smallest chunk nothing is gained by splitting. Range: 0B to `message_limit`.
            Default: "16KiB".
        two_sided: How larger ones cross. Default: "write-then-send".
        retries: How often a chunk is tried again, and a failed path probed, before a
            message fails. Source: the retry counter of a queue pair, which has three bits
            (`retry_cnt` of `ibv_modify_qp`). Default: 7.
        first_timeout: Silence after which a path is suspected while nothing is known of it.
            Source: a probe of 512 KB takes 4.2 ms at 1 Gb/s. Range: 1ps to `timeout_most`.
            Default: "10ms".
        timeout_least: Its lower bound later; at least two of the largest base round trips.
            Range: 1ps to `timeout_most`. Default: "100us".
        timeout_most: Its upper bound, and that of the pause before a path is probed again.
            Range: 1ps to 3600s. Default: "100ms".
        probe: Bytes of a sample of capacity, and of a probe. Source: S3, section 3.5: "at
            least 512 KB". Range: 1B to `message_limit`. Default: "512KiB".
        reps_cache: Paths that balancer `reps` keeps. Source: REPS (Bonato et al., 2024),
            section 3. Range: 1 to 1024. Default: 8.
        plan: Source ports of paths: `"ports"`: those after the message's own; a list; or a
            `file`, as in `{ file = "x.cfg" }`, of lines `srcIP,dstIP=port,port,...`, where host
            n has address 11.a.b.1 with n = 256 a + b, and 0.0.0.0 is all. Default: "ports".
        twins: How paths with the same route are found, of which one is used. Default:
            "route".
        coupled: Whether the queue pairs of a connection together take one share under scope
            `qp`. Default: true.
        costs: What the software of hosts costs; left out, nothing.
    """

    paths: Optional[int] = None
    connections: Optional[Connections] = None
    balancer: Optional[BalancerKind] = None
    limiter: Optional[LimiterKind] = None
    message_limit: Optional[Bytes] = None
    chunk: Optional[Bytes] = None
    chunk_least: Optional[Bytes] = None
    chunk_most: Optional[Bytes] = None
    depth: Optional[int] = None
    messages: Optional[int] = None
    single_send: Optional[Bytes] = None
    two_sided: Optional[TwoSided] = None
    retries: Optional[int] = None
    first_timeout: Optional[Duration] = None
    timeout_least: Optional[Duration] = None
    timeout_most: Optional[Duration] = None
    probe: Optional[Bytes] = None
    reps_cache: Optional[int] = None
    plan: Optional[Plan] = None
    twins: Optional[Twins] = None
    coupled: Optional[bool] = None
    costs: Optional[PathCosts] = None
