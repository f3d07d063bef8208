"""Congestion of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Optional

from fairlane._section import Section
from fairlane.scenario._parameters import DasrParameters, DcqcnParameters, DctcpParameters, FixedParameters, HpccParameters, InfinibandParameters, NsccParameters, PowertcpParameters, SwiftParameters, TenantParameters, TimelyParameters
from fairlane.scenario._units import Duration

#: A congestion control algorithm.
Algorithm = Literal[
    "fixed",
    "dcqcn",
    "dctcp",
    "timely",
    "swift",
    "nscc",
    "hpcc",
    "powertcp",
    "infiniband",
]

#: The traffic that shares one controller.
Scope = Literal["none", "qp", "destination-unsplit", "pair", "tenant"]

#: Whether and how bytes in flight are limited.
WindowMode = Literal["none", "fixed", "scaled"]

#: Whose base round-trip time and bandwidth-delay product a controller uses.
BaseRtt = Literal["global", "pair"]

#: How receivers tell senders of marks.
Notification = Literal["ack", "cnp"]


@dataclass
class Congestion(Section):
    """Congestion control and its scope.

    Attributes:
        algorithm: The algorithm. Default: "dcqcn".
        scope: Traffic that shares one controller; under `hpcc-ns3` only `"qp"`. Default:
            "qp".
        tenant: Parameters of scope `tenant`.
        dasr: Whether and how receivers apportion their links among those that send to them,
            above any algorithm.
        window: Limit on bytes in flight; left out, `"scaled"` for HPCC and DCTCP, else
            `"none"`. Swift, NSCC and PowerTCP also have a window of their own; the smaller one
            holds.
        base_rtt: Base round-trip time and bandwidth-delay product that controllers use.
            Default: "global".
        paced: Whether the rate paces packets; without, only the window limits. Default:
            true.
        notification: How receivers echo marks. Default: "ack".
        cnp_interval: With `notification = "cnp"`: least time between two CNPs for one queue
            pair. Source: DCQCN (SIGCOMM 2015), section 3.1. Range: above 0. Default: "50us".
        fixed: Parameters of `fixed`. Default: {}.
        dcqcn: Parameters of `dcqcn`.
        dctcp: Parameters of `dctcp`.
        timely: Parameters of `timely`.
        swift: Parameters of `swift`.
        nscc: Parameters of `nscc`.
        hpcc: Parameters of `hpcc`.
        powertcp: Parameters of `powertcp`.
        infiniband: Parameters of `infiniband`.
    """

    algorithm: Optional[Algorithm] = None
    scope: Optional[Scope] = None
    tenant: TenantParameters = field(default_factory=lambda: TenantParameters())
    dasr: DasrParameters = field(default_factory=lambda: DasrParameters())
    window: Optional[WindowMode] = None
    base_rtt: Optional[BaseRtt] = None
    paced: Optional[bool] = None
    notification: Optional[Notification] = None
    cnp_interval: Optional[Duration] = None
    fixed: FixedParameters = field(default_factory=lambda: FixedParameters())
    dcqcn: DcqcnParameters = field(default_factory=lambda: DcqcnParameters())
    dctcp: DctcpParameters = field(default_factory=lambda: DctcpParameters())
    timely: TimelyParameters = field(default_factory=lambda: TimelyParameters())
    swift: SwiftParameters = field(default_factory=lambda: SwiftParameters())
    nscc: NsccParameters = field(default_factory=lambda: NsccParameters())
    hpcc: HpccParameters = field(default_factory=lambda: HpccParameters())
    powertcp: PowertcpParameters = field(default_factory=lambda: PowertcpParameters())
    infiniband: InfinibandParameters = field(default_factory=lambda: InfinibandParameters())
