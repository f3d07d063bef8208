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
        name: Its name, which workloads refer to.
        weight: Its share of a link that is contended, in proportion to the weights of the
            others. Default: 1.0.
        hosts: The hosts that its workloads may use. Default: "all".
        guarantee: What each of its hosts may send whatever the others do; left out, nothing
            is promised.
    """

    name: str
    weight: Optional[float] = None
    hosts: Optional[HostSet] = None
    guarantee: Optional[Rate] = None
