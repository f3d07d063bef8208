"""A scenario as objects with typed attributes.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.

Values with a unit are text, as in ``"100Gbps"``, ``"1us"`` and ``"256kB"``. Attributes that aren't
stated have the default of the scenario's profile.

>>> from fairlane.scenario import Incast, LinkSpec, Scenario, Star
>>> scenario = Scenario(
...     topology=Star(hosts=4, host_link=LinkSpec(rate="100Gbps", delay="1us")),
...     workload=[Incast(degree=3, size="256kB")],
... )
>>> scenario.congestion.algorithm = "swift"
>>> scenario.to_dict()["congestion"]
{'algorithm': 'swift'}
"""

from fairlane.scenario._profile import (
    Profile,
)
from fairlane.scenario._units import (
    Bytes,
    CapturePoint,
    Duration,
    HostSet,
    Rate,
)
from fairlane.scenario._output import (
    Output,
)
from fairlane.scenario._packet import (
    PacketSizes,
)
from fairlane.scenario._switch import (
    Arbitration,
    ClassSchedule,
    Ecn,
    EcnThreshold,
    FlowletParameters,
    Forwarding,
    IofdParameters,
    Pfc,
    Switch,
)
from fairlane.scenario._nic import (
    AckPause,
    Costs,
    Drum,
    Justitia,
    Nic,
    Policy,
    Share,
)
from fairlane.scenario._transport import (
    Recovery,
    Service,
    Transport,
)
from fairlane.scenario._congestion import (
    Algorithm,
    BaseRtt,
    Congestion,
    Notification,
    Scope,
    WindowMode,
)
from fairlane.scenario._parameters import (
    CctEntry,
    DasrMode,
    DasrParameters,
    DcqcnParameters,
    DctcpParameters,
    FixedParameters,
    HpccParameters,
    InfinibandParameters,
    NsccParameters,
    PowertcpParameters,
    SwiftParameters,
    TenantParameters,
    TimelyParameters,
)
from fairlane.scenario._multipath import (
    BalancerKind,
    Connections,
    LimiterKind,
    Multipath,
    NextPorts,
    PathCosts,
    Plan,
    Twins,
    TwoSided,
)
from fairlane.scenario._topology import (
    Dumbbell,
    FatTree,
    LeafSpine,
    LinkSpec,
    Mesh,
    Star,
    Topology,
    TopologyFile,
)
from fairlane.scenario._faults import (
    Faults,
    LinkFault,
    PauseFault,
    SlowLink,
)
from fairlane.scenario._tenant import (
    CongestionOverride,
    Tenant,
)
from fairlane.scenario._attack import (
    Attack,
    AttackKind,
)
from fairlane.scenario._lab import (
    Lab,
    LabAction,
    LabFault,
    LabProgram,
)
from fairlane.scenario._workload import (
    AllToAll,
    Collective,
    CollectiveAlgorithm,
    CollectiveKind,
    Flow,
    Flows,
    Incast,
    KeyValue,
    Layer,
    LoadOf,
    Permutation,
    Poisson,
    Program,
    RingAllReduce,
    SizePoint,
    SizeRange,
    Sizes,
    Spread,
    TraceFormat,
    TracePath,
    Training,
    Verb,
    Workload,
)
from fairlane.scenario._scenario import (
    Scenario,
)

__all__ = [
    "AckPause",
    "Algorithm",
    "AllToAll",
    "Arbitration",
    "Attack",
    "AttackKind",
    "BalancerKind",
    "BaseRtt",
    "Bytes",
    "CapturePoint",
    "CctEntry",
    "ClassSchedule",
    "Collective",
    "CollectiveAlgorithm",
    "CollectiveKind",
    "Congestion",
    "CongestionOverride",
    "Connections",
    "Costs",
    "DasrMode",
    "DasrParameters",
    "DcqcnParameters",
    "DctcpParameters",
    "Drum",
    "Dumbbell",
    "Duration",
    "Ecn",
    "EcnThreshold",
    "FatTree",
    "Faults",
    "FixedParameters",
    "Flow",
    "FlowletParameters",
    "Flows",
    "Forwarding",
    "HostSet",
    "HpccParameters",
    "Incast",
    "InfinibandParameters",
    "IofdParameters",
    "Justitia",
    "KeyValue",
    "Lab",
    "LabAction",
    "LabFault",
    "LabProgram",
    "Layer",
    "LeafSpine",
    "LimiterKind",
    "LinkFault",
    "LinkSpec",
    "LoadOf",
    "Mesh",
    "Multipath",
    "NextPorts",
    "Nic",
    "Notification",
    "NsccParameters",
    "Output",
    "PacketSizes",
    "PathCosts",
    "PauseFault",
    "Permutation",
    "Pfc",
    "Plan",
    "Poisson",
    "Policy",
    "PowertcpParameters",
    "Profile",
    "Program",
    "Rate",
    "Recovery",
    "RingAllReduce",
    "Scenario",
    "Scope",
    "Service",
    "Share",
    "SizePoint",
    "SizeRange",
    "Sizes",
    "SlowLink",
    "Spread",
    "Star",
    "SwiftParameters",
    "Switch",
    "Tenant",
    "TenantParameters",
    "TimelyParameters",
    "Topology",
    "TopologyFile",
    "TraceFormat",
    "TracePath",
    "Training",
    "Transport",
    "Twins",
    "TwoSided",
    "Verb",
    "WindowMode",
    "Workload",
]
