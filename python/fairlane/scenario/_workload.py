"""Workload of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Literal, Optional, Union

from fairlane._section import Section
from fairlane.scenario._multipath import Connections
from fairlane.scenario._tenant import CongestionOverride
from fairlane.scenario._units import Bytes, Duration, HostSet


@dataclass
class SizePoint(Section):
    """A point of a distribution function: `percent` of messages are at most `size`.

    Attributes:
        size: Message size.
        percent: Cumulative percent, 0 to 100.
    """

    size: Bytes
    percent: float

#: A distribution of message sizes.
Sizes = Union[str, List[SizePoint]]

#: Which links have the load of messages at random times.
LoadOf = Literal["hosts", "fabric"]

#: What a message is. The source of a message posts it; a READ's data comes from the
#: destination.
Verb = Literal["write", "send", "read", "fetch-add", "compare-swap"]


@dataclass
class Poisson(Section):
    """Poisson arrivals at every source, each to a uniformly random other destination.

    Attributes:
        sizes: Sizes of messages.
        load: Mean use of links by payload, of those that `load_of` names; of several ports
            all links together, or the one of the `plane`. Range: above 0, at most 1.
        duration: Arrivals happen in `start .. start + duration`. Range: above 0.
        load_of: Whose use `load` is. Default: "hosts".
        start: When it begins. Default: "0ps".
        sources: Hosts that send. Default: "all".
        destinations: Hosts that receive. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    sizes: Sizes
    load: float
    duration: Duration
    kind: Literal["poisson"] = field(default="poisson", init=False)
    load_of: Optional[LoadOf] = None
    start: Optional[Duration] = None
    sources: Optional[HostSet] = None
    destinations: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None


@dataclass
class Incast(Section):
    """In each round several random hosts send to one, or with `verb = "read"` it reads from
    them. Rounds come every `period`, or at Poisson times with a `load`.

    Attributes:
        degree: Senders in each round. Range: at least 1.
        size: Size of each message. Range: 1B to 4294967295B.
        receiver: The receiver; left out, a random host each round.
        start: When it begins. Default: "0ps".
        period: Time between rounds; left out, 1 ms. Not together with `load`.
        rounds: Rounds; left out, 1. Not together with `load`. Range: at least 1.
        load: Rounds at Poisson times instead: payload of all rounds, in bytes per second,
            over the sum of the rates of the links of `hosts` (of all ports, or the one of the
            `plane`). Range: above 0, at most 1.
        duration: With `load`: rounds begin in `start .. start + duration`. Range: above 0.
        jitter: Each sender starts up to this much later. Default: "0ps".
        hosts: Hosts that take part. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    degree: int
    size: Bytes
    kind: Literal["incast"] = field(default="incast", init=False)
    receiver: Optional[int] = None
    start: Optional[Duration] = None
    period: Optional[Duration] = None
    rounds: Optional[int] = None
    load: Optional[float] = None
    duration: Optional[Duration] = None
    jitter: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None


@dataclass
class Permutation(Section):
    """Every host sends one message to another, and receives one.

    Attributes:
        size: Size of each message. Range: 1B to 4294967295B.
        start: When it begins. Default: "0ps".
        hosts: Hosts that take part. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    size: Bytes
    kind: Literal["permutation"] = field(default="permutation", init=False)
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None


@dataclass
class AllToAll(Section):
    """Every host sends one message to every other.

    Attributes:
        size: Size of each message. Range: 1B to 4294967295B.
        start: When it begins. Default: "0ps".
        hosts: Hosts that take part. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    size: Bytes
    kind: Literal["all-to-all"] = field(default="all-to-all", init=False)
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None


@dataclass
class RingAllReduce(Section):
    """n hosts in ascending order, 2(n-1) steps; in each a host sends size/n to its successor
    once it has received the previous step. Unlike under `collective`, its next round begins
    with its last received block, without waiting for acknowledgements.

    Attributes:
        size: Size of the vector.
        start: When it begins. Default: "0ps".
        rounds: Collectives, one after the other. Range: at least 1. Default: 1.
        hosts: Hosts that take part. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        channels: Parallel connections from one rank to another. Each carries an equal part
            of every collective's vector, in steps of its own; sends of programs take them in
            turn. Range: 1 to 64. Default: 1.
        send_latency: Time from when a message may be sent until its host hands it to the
            NIC. Default: "0ps".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    size: Bytes
    kind: Literal["ring-all-reduce"] = field(default="ring-all-reduce", init=False)
    start: Optional[Duration] = None
    rounds: Optional[int] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    channels: Optional[int] = None
    send_latency: Optional[Duration] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None

#: A collective operation.
CollectiveKind = Literal[
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "broadcast",
    "reduce",
    "barrier",
]

#: In which steps a collective is done.
CollectiveAlgorithm = Literal[
    "usual",
    "ring",
    "tree",
    "halving-doubling",
    "hierarchical",
    "direct",
]


@dataclass
class Collective(Section):
    """A collective operation.

    Attributes:
        operation: The operation.
        algorithm: Its steps. Default: "usual".
        inner: Hosts of an inner group of algorithm `"hierarchical"`.
        root: Rank within each group that has the vector of a broadcast, or gets the sum of
            a reduce. Default: 0.
        size: Size of the vector, for all but barriers at least 1 byte; of an all-to-all,
            what each rank sends to all. Range: at most 1024GiB. Default: "0B".
        start: When it begins. Default: "0ps".
        rounds: Collectives, one after the other. Range: at least 1. Default: 1.
        gap: Time that a rank computes between two. Default: "0ps".
        groups: Groups of neighbouring hosts, each with a collective of its own. Range: at
            least 1. Default: 1.
        hosts: Hosts that take part. Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is: `"write"` or `"send"`. Default: "write".
        channels: Parallel connections from one rank to another. Each carries an equal part
            of every collective's vector, in steps of its own; sends of programs take them in
            turn. Range: 1 to 64. Default: 1.
        send_latency: Time from when a message may be sent until its host hands it to the
            NIC. Default: "0ps".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    operation: CollectiveKind
    kind: Literal["collective"] = field(default="collective", init=False)
    algorithm: Optional[CollectiveAlgorithm] = None
    inner: Optional[int] = None
    root: Optional[int] = None
    size: Optional[Bytes] = None
    start: Optional[Duration] = None
    rounds: Optional[int] = None
    gap: Optional[Duration] = None
    groups: Optional[int] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    channels: Optional[int] = None
    send_latency: Optional[Duration] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None


@dataclass
class Layer(Section):
    """A layer of a model, or several alike.

    Attributes:
        parameters: Parameters of each, which tensor ranks share. Range: 0 to
            17592186044416.
        activation: Bytes that it passes on per micro-batch, which tensor ranks reduce.
            Range: 1B to 1024GiB.
        forward: Computation per micro-batch.
        backward: Computation of its gradients.
        count: Equal layers. Range: at least 1. Default: 1.
        routed: Tokens that a rank sends to experts per micro-batch, and gets back. Range:
            at most 1024GiB. Default: "0B".
    """

    parameters: int
    activation: Bytes
    forward: Duration
    backward: Duration
    count: Optional[int] = None
    routed: Optional[Bytes] = None


@dataclass
class Training(Section):
    """Training of a model by data, tensor and pipeline parallelism: tensor ranks are
    neighbours, then data ranks, then pipeline stages.

    Attributes:
        layers: Layers of the model, in order.
        steps: Steps of the optimizer. Range: at least 1. Default: 1.
        micro_batches: Micro-batches of each step, forwards and backwards in turn (1F1B).
            Range: at least 1. Default: 1.
        tensor: Ranks that share each layer. Range: at least 1. Default: 1.
        pipeline: Stages, among which the layers are divided. Range: at least 1. Default: 1.
        expert: Neighbouring data ranks that exchange tokens. Range: at least 1. Default: 1.
        gradient_bytes: Bytes of a parameter's gradient. Range: 1 to 8. Default: 2.
        bucket: Gradients are reduced in buckets of this size. Range: 1B to 1024GiB.
            Default: "25MiB".
        algorithm: Steps in which gradients, and activations of tensor ranks, are reduced.
            Default: "usual".
        optimizer: Time that the optimizer computes once all gradients are reduced. Default:
            "0ps".
        start: When it begins. Default: "0ps".
        hosts: Hosts that take part; those beyond `tensor` times `pipeline` are data ranks.
            Default: "all".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is: `"write"` or `"send"`. Default: "write".
        channels: Parallel connections from one rank to another. Each carries an equal part
            of every collective's vector, in steps of its own; sends of programs take them in
            turn. Range: 1 to 64. Default: 1.
        send_latency: Time from when a message may be sent until its host hands it to the
            NIC. Default: "0ps".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    layers: List[Layer]
    kind: Literal["training"] = field(default="training", init=False)
    steps: Optional[int] = None
    micro_batches: Optional[int] = None
    tensor: Optional[int] = None
    pipeline: Optional[int] = None
    expert: Optional[int] = None
    gradient_bytes: Optional[int] = None
    bucket: Optional[Bytes] = None
    algorithm: Optional[CollectiveAlgorithm] = None
    optimizer: Optional[Duration] = None
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    channels: Optional[int] = None
    send_latency: Optional[Duration] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None

#: A file, or those of all ranks; a path may stand for several.
TracePath = Union[str, List[str]]

#: The format of a trace.
TraceFormat = Literal["goal", "chakra"]


@dataclass
class Program(Section):
    """The program of a trace.

    Attributes:
        path: The trace, relative to the scenario: a file, or those of all ranks as a
            folder, a pattern (`"t.*.et"`), the beginning of their names, or a list.
        format: Its format; left out, by extension: `.goal` or `.et`.
        start: When it begins. Default: "0ps".
        hosts: Hosts that take part. Default: "all".
        placement: By rank, the index of its host among `hosts`; left out, rank r runs on
            the r-th.
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each message is: `"write"` or `"send"`. Default: "write".
        channels: Parallel connections from one rank to another. Each carries an equal part
            of every collective's vector, in steps of its own; sends of programs take them in
            turn. Range: 1 to 64. Default: 1.
        send_latency: Time from when a message may be sent until its host hands it to the
            NIC. Default: "0ps".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    path: TracePath
    kind: Literal["program"] = field(default="program", init=False)
    format: Optional[TraceFormat] = None
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    placement: Optional[List[int]] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    channels: Optional[int] = None
    send_latency: Optional[Duration] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None

#: What is uniformly distributed.
Spread = Literal["uniform", "log-uniform"]


@dataclass
class SizeRange(Section):
    """A range of sizes.

    Attributes:
        low: The smallest. Range: 1B to 4294967295B.
        high: The largest. Range: 1B to 4294967295B.
        spread: What is uniform. Default: "uniform".
    """

    low: Bytes
    high: Bytes
    spread: Optional[Spread] = None


@dataclass
class KeyValue(Section):
    """Closed loops over open connections: each posts a batch of operations, and the next once
    the thread has polled the last completion. Not under `hpcc-ns3`.

    Attributes:
        servers: Hosts that they ask, in turn, connection by connection.
        clients: Hosts of the applications. Default: "all".
        applications: Applications on each client, each a thread. Range: at least 1.
            Default: 1.
        connections: Connections of each application. Range: at least 1. Default: 1.
        size: Size of every value; this, `range` or `sizes` is required. Range: 1B to
            4294967295B.
        range: Limits of random sizes.
        sizes: Distribution of sizes.
        batch: Operations posted at once; the last one's completion is signalled. Range: 1
            to 65536. Default: 1.
        count: Operations of each connection. Range: at least 1.
        duration: No batch begins at or after `start + duration`. Without this and `count`,
            connections run until all `key-value` workloads that have one of them are done, or
            the run stops. Range: above 0.
        poll_interval: The thread polls at multiples of this and takes one completion each
            time; 0: continuously. Default: "0ps".
        weight: Utility weight of each connection under policy `drum`. Range: above 0.
            Default: 1.0.
        start: When it begins. Default: "0ps".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        verb: What each operation is. Default: "read".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
    """

    servers: HostSet
    kind: Literal["key-value"] = field(default="key-value", init=False)
    clients: Optional[HostSet] = None
    applications: Optional[int] = None
    connections: Optional[int] = None
    size: Optional[Bytes] = None
    range: Optional[SizeRange] = None
    sizes: Optional[Sizes] = None
    batch: Optional[int] = None
    count: Optional[int] = None
    duration: Optional[Duration] = None
    poll_interval: Optional[Duration] = None
    weight: Optional[float] = None
    start: Optional[Duration] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None


@dataclass
class Flow(Section):
    """One message.

    Attributes:
        source: Sender.
        destination: Receiver.
        size: Bytes of payload. Range: 1B to 4294967295B.
        start: When it is posted. Default: "0ps".
        class_: Traffic class. Range: 1 to 7. Default: 3.
        destination_port: Label that stays with the message. Default: 100.
        subflows: Equal parts, each on its own queue pair, that scopes treat as one message;
            not together with `paths`. Range: 1 to 1024. Default: 1.
    """

    source: int
    destination: int
    size: Bytes
    start: Optional[Duration] = None
    class_: Optional[int] = None
    destination_port: Optional[int] = None
    subflows: Optional[int] = None


@dataclass
class Flows(Section):
    """Messages of a flow file, or listed here.

    Attributes:
        path: Flow file, relative to the scenario; this or `flow` is required.
        flow: Messages, in order of start.
        verb: What each message is. Default: "write".
        tenant: Tenant that it belongs to; left out, the first.
        plane: Plane of all its messages, from 0; left out, by a hash of each five-tuple.
        congestion: Congestion control of its queue pairs; left out, that of its tenant or
            of the fabric.
        paths: Paths of each message; left out, `multipath.paths`. Refused without
            `[multipath]`. Range: 1 to 1024.
        connections: Which messages share a connection; left out, `multipath.connections`.
            If that isn't stated either, `"pair"` for kinds with `channels`, `"message"` for
            others and under `hpcc-ns3`.
    """

    kind: Literal["flows"] = field(default="flows", init=False)
    path: Optional[str] = None
    flow: Optional[List[Flow]] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    congestion: Optional[CongestionOverride] = None
    paths: Optional[int] = None
    connections: Optional[Connections] = None

Workload = Union[Poisson, Incast, Permutation, AllToAll, RingAllReduce, Collective, Training, Program, KeyValue, Flows]
