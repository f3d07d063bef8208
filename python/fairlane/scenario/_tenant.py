"""Tenant of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from fairlane._section import Section
from fairlane.scenario._units import HostSet, Rate


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
    """

    name: str
    weight: Optional[float] = None
    hosts: Optional[HostSet] = None
    guarantee: Optional[Rate] = None
