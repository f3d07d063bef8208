"""Tenant of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from fairlane._section import Section
from fairlane.scenario._congestion import Algorithm, WindowMode
from fairlane.scenario._parameters import DcqcnParameters, DctcpParameters, FixedParameters, HpccParameters, InfinibandParameters, NsccParameters, PowertcpParameters, SwiftParameters, TimelyParameters
from fairlane.scenario._units import HostSet, Rate


@dataclass
class CongestionOverride(Section):
    """Congestion control of the queue pairs of a tenant or workload, in place of that of the
    fabric.

    Attributes:
        algorithm: The algorithm; `"fixed"` with `fixed.rate` is traffic at a constant rate.
        window: Limit on bytes in flight; left out, that of the algorithm, as in
            `congestion.window`.
        fixed: Parameters of `fixed`; left out, those of `congestion.fixed`.
        dcqcn: Parameters of `dcqcn`; left out, those of `congestion.dcqcn`.
        dctcp: Parameters of `dctcp`; left out, those of `congestion.dctcp`.
        timely: Parameters of `timely`; left out, those of `congestion.timely`.
        swift: Parameters of `swift`; left out, those of `congestion.swift`.
        nscc: Parameters of `nscc`; left out, those of `congestion.nscc`.
        hpcc: Parameters of `hpcc`; left out, those of `congestion.hpcc`.
        powertcp: Parameters of `powertcp`; left out, those of `congestion.powertcp`.
        infiniband: Parameters of `infiniband`; left out, those of `congestion.infiniband`.
    """

    algorithm: Algorithm
    window: Optional[WindowMode] = None
    fixed: Optional[FixedParameters] = None
    dcqcn: Optional[DcqcnParameters] = None
    dctcp: Optional[DctcpParameters] = None
    timely: Optional[TimelyParameters] = None
    swift: Optional[SwiftParameters] = None
    nscc: Optional[NsccParameters] = None
    hpcc: Optional[HpccParameters] = None
    powertcp: Optional[PowertcpParameters] = None
    infiniband: Optional[InfinibandParameters] = None


@dataclass
class Tenant(Section):
    """Who a workload belongs to: tenants share the fabric by weight. A tenant's number is its
    place in the scenario.

    Attributes:
        name: Name, unique; 1 to 40 letters, digits, `-`, `_` and `.`.
        weight: Relative share of a contended link. Range: 1e-6 to 1000000. Default: 1.0.
        hosts: Hosts that its workloads may use. Default: "all".
        guarantee: Rate that each of its hosts may send whatever other tenants do; left out,
            none.
        congestion: Congestion control of its workloads; left out, that of the fabric. Needs
            `congestion.scope` `"qp"` or `"none"`.
    """

    name: str
    weight: Optional[float] = None
    hosts: Optional[HostSet] = None
    guarantee: Optional[Rate] = None
    congestion: Optional[CongestionOverride] = None
