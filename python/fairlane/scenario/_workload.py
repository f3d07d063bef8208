"""Workload of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Literal, Optional, Union

from fairlane._section import Section
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

#: What a message is. The source of a message posts it; a READ's data comes from the
#: destination.
Verb = Literal["write", "send", "read", "fetch-add", "compare-swap"]


@dataclass
class Poisson(Section):
    """Messages arrive at every source as a Poisson process and go to a uniformly random other
    host.

    Attributes:
        sizes: Sizes: a built-in distribution (`websearch`, `hadoop`, `storage`, `rpc`) or a
            file.
        load: Mean use of a source's link by payload, above 0 and at most 1.
        duration: Arrivals happen in `start .. start + duration`.
        start: First possible arrival. Default: "0ps".
        sources: The hosts that send. Default: "all".
        destinations: The hosts that receive. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    sizes: Sizes
    load: float
    duration: Duration
    kind: Literal["poisson"] = field(default="poisson", init=False)
    start: Optional[Duration] = None
    sources: Optional[HostSet] = None
    destinations: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None


@dataclass
class Incast(Section):
    """Several hosts send to one at the same time, again and again.

    Attributes:
        degree: Senders in each round, chosen at random.
        size: Size of each message.
        receiver: The receiver; left out, another random host each round.
        start: First round. Default: "0ps".
        period: Time between rounds. Default: "1ms".
        rounds: Rounds. Default: 1.
        jitter: Each sender starts up to this much later, uniformly. Default: "0ps".
        hosts: The hosts that may take part. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    degree: int
    size: Bytes
    kind: Literal["incast"] = field(default="incast", init=False)
    receiver: Optional[int] = None
    start: Optional[Duration] = None
    period: Optional[Duration] = None
    rounds: Optional[int] = None
    jitter: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None


@dataclass
class Permutation(Section):
    """Every host sends one message to another, and receives one.

    Attributes:
        size: Size of each message.
        start: When all start. Default: "0ps".
        hosts: The hosts that take part. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    size: Bytes
    kind: Literal["permutation"] = field(default="permutation", init=False)
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None


@dataclass
class AllToAll(Section):
    """Every host sends one message to every other.

    Attributes:
        size: Size of each message.
        start: When all start. Default: "0ps".
        hosts: The hosts that take part. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    size: Bytes
    kind: Literal["all-to-all"] = field(default="all-to-all", init=False)
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None


@dataclass
class RingAllReduce(Section):
    """Ring all-reduce: n hosts, 2(n-1) steps, each host sends size/n to its successor in each
    step once it has received the previous step from its predecessor. Results don't tell
    collectives apart: see `collective`.

    Attributes:
        size: Size of the vector that is reduced.
        start: When the first collective starts. Default: "0ps".
        rounds: Collectives, one after the other. Default: 1.
        hosts: The hosts of the ring, in ascending order. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    size: Bytes
    kind: Literal["ring-all-reduce"] = field(default="ring-all-reduce", init=False)
    start: Optional[Duration] = None
    rounds: Optional[int] = None
    hosts: Optional[HostSet] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None

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
    """A collective operation, once or several times; every host is a rank.

    Attributes:
        operation: Which one.
        algorithm: In which steps. Default: "usual".
        inner: Hosts of an inner group of algorithm `hierarchical`.
        root: Of a broadcast or reduce, the rank within each group that has the vector, or
            gets the sum. Default: 0.
        size: Size of the whole vector; of an all-to-all what each rank sends to all, of a
            barrier nothing. Default: "0B".
        start: When the ranks begin. Default: "0ps".
        rounds: Collectives, one after the other: a rank begins the next one when it has
            done its part of one, and the gap has passed. Default: 1.
        gap: What each rank computes between two of them. Default: "0ps".
        groups: The hosts, in ascending order, are divided into so many groups of
            neighbours, each with a collective of its own. Default: 1.
        hosts: The hosts that take part. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is: `write` or `send`. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
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
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None


@dataclass
class Layer(Section):
    """A layer of a model, or several alike.

    Attributes:
        parameters: Parameters of the layer, which the tensor ranks share.
        activation: What the layer hands to the next for a micro-batch, and what tensor
            ranks reduce.
        forward: What a rank computes for a micro-batch.
        backward: What it computes for its gradients.
        count: So many layers are like this.
        routed: Tokens that a rank sends to experts for a micro-batch, and gets back; 0 for
            a layer without experts. Default: "0B".
    """

    parameters: int
    activation: Bytes
    forward: Duration
    backward: Duration
    count: Optional[int] = None
    routed: Optional[Bytes] = None


@dataclass
class Training(Section):
    """Training of a model that is divided among hosts by data, tensor and pipeline
    parallelism, each host a rank; tensor ranks are neighbours, then data ranks, then stages
    of the pipeline.

    Attributes:
        layers: The layers of the model, in order.
        steps: Steps of the optimizer. Default: 1.
        micro_batches: Micro-batches of each step, forwards and backwards in turn (1F1B).
            Default: 1.
        tensor: Ranks that share the operations of each layer. Default: 1.
        pipeline: Stages, among which the layers are divided. Default: 1.
        expert: Neighbouring data ranks that exchange tokens before and after the experts of
            a layer. Default: 1.
        gradient_bytes: Bytes of a parameter's gradient. Default: 2.
        bucket: Gradients are reduced as soon as so many bytes of them are there. Default:
            "25MiB".
        algorithm: In which steps gradients are reduced among data ranks, and activations
            among tensor ranks. Default: "usual".
        optimizer: What the optimizer computes once all gradients are reduced. Default:
            "0ps".
        start: When the first step begins. Default: "0ps".
        hosts: The hosts that take part: tensor times data times pipeline, which says how
            many data ranks there are. Default: "all".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is: `write` or `send`. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
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
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None

#: A file, or those of all ranks.
TracePath = Union[str, List[str]]

#: The format of a trace.
TraceFormat = Literal["goal", "chakra"]


@dataclass
class Program(Section):
    """The program of a trace.

    Attributes:
        path: The trace, relative to the scenario: a file, or of Chakra traces the files of
            all ranks.
        format: Its format; left out, it follows from the extension: `.goal` or `.et`.
        start: When the ranks begin. Default: "0ps".
        hosts: The hosts of the ranks, in ascending order. Default: "all".
        placement: By rank, the place of its host among `hosts`; left out, the rank itself.
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each message is: `write` or `send`. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    path: TracePath
    kind: Literal["program"] = field(default="program", init=False)
    format: Optional[TraceFormat] = None
    start: Optional[Duration] = None
    hosts: Optional[HostSet] = None
    placement: Optional[List[int]] = None
    class_: Optional[int] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None

#: What is uniformly distributed.
Spread = Literal["uniform", "log-uniform"]


@dataclass
class SizeRange(Section):
    """A range of sizes.

    Attributes:
        low: The smallest, at least one byte.
        high: The largest.
        spread: What is uniform: the size, or its logarithm. Default: "uniform".
    """

    low: Bytes
    high: Bytes
    spread: Optional[Spread] = None


@dataclass
class KeyValue(Section):
    """Applications ask servers for values over connections that stay open: each connection
    posts a batch of operations once it has seen the completion of the batch before.

    Attributes:
        servers: The hosts that they ask, in turn: connection by connection.
        clients: The hosts that the applications run on. Default: "all".
        applications: Applications on each client, each with a thread of its own. Default:
            1.
        connections: Connections of each application. Default: 1.
        size: The size of every value; give this, `range` or `sizes`.
        range: Sizes between two limits.
        sizes: Sizes from a distribution.
        batch: Operations posted at once (`wr_num`); the last one's completion is signalled.
            Default: 1.
        count: Operations of each connection; left out, as many as there is time for.
        duration: Batches begin in `start .. start + duration`; without `count` and
            `duration`, until every workload that has one of them is done.
        poll_interval: Time between two polls of an application, each of which takes one
            completion; 0: it polls all the time. Default: "0ps".
        weight: Weight of each connection's utility under policy `drum`. Default: 1.0.
        start: When the connections begin. Default: "0ps".
        class_: Traffic class, 1 to 7. Default: 3.
        verb: What each operation is. Default: "read".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
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


@dataclass
class Flow(Section):
    """One message.

    Attributes:
        source: Node number of the sender.
        destination: Node number of the receiver.
        size: Bytes of payload.
        start: When it is posted. Default: "0ps".
        class_: Traffic class, 1 to 7. Default: 3.
        destination_port: Destination port: a label that stays with the message (100 and 200
            are usual). Default: 100.
        subflows: Parts of equal size, each on a queue pair of its own, that are one message
            all the same: for scopes, and for who waits for it.
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
    """Messages listed in the scenario or in a file.

    Attributes:
        path: A file in the flow text of HPCC's simulator, relative to the scenario.
        flow: Messages, in order of start.
        verb: What each message is. Default: "write".
        tenant: The tenant that it belongs to; left out, the first.
        plane: The plane that its messages take; left out, each takes one by a hash of its
            five-tuple.
        paths: Queue pairs of each message, 1 for an ordinary one; left out,
            `multipath.paths`.
    """

    kind: Literal["flows"] = field(default="flows", init=False)
    path: Optional[str] = None
    flow: Optional[List[Flow]] = None
    verb: Optional[Verb] = None
    tenant: Optional[str] = None
    plane: Optional[int] = None
    paths: Optional[int] = None

Workload = Union[Poisson, Incast, Permutation, AllToAll, RingAllReduce, Collective, Training, Program, KeyValue, Flows]
