"""Topology of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Optional, Union

from fairlane._section import Section
from fairlane.scenario._units import Duration, Rate


@dataclass
class LinkSpec(Section):
    """Rate and delay of a link.

    Attributes:
        rate: Rate in each direction. Range: 1Mbps to 8Tbps.
        delay: Propagation delay in each direction; 0 only under `hpcc-ns3`. Range: at most
            1s.
    """

    rate: Rate
    delay: Duration


@dataclass
class Dumbbell(Section):
    """Two switches with hosts, joined by one link.

    Attributes:
        left: Hosts on the first switch. Range: at least 1.
        right: Hosts on the second switch. Range: at least 1.
        host_link: Links of hosts.
        core_link: The link between the switches.
    """

    left: int
    right: int
    host_link: LinkSpec
    core_link: LinkSpec
    kind: Literal["dumbbell"] = field(default="dumbbell", init=False)


@dataclass
class Star(Section):
    """One switch.

    Attributes:
        hosts: Hosts. Range: at least 1.
        host_link: Links of hosts.
        planes: Planes: copies of the switches, each with a port of every host. Range: 1 to
            8. Default: 1.
    """

    hosts: int
    host_link: LinkSpec
    kind: Literal["star"] = field(default="star", init=False)
    planes: Optional[int] = None


@dataclass
class LeafSpine(Section):
    """Every leaf linked to every spine.

    Attributes:
        leaves: Leaf switches. Range: at least 1.
        spines: Spine switches. Range: at least 1.
        hosts_per_leaf: Hosts on each leaf. Range: at least 1.
        host_link: Links of hosts.
        fabric_link: Links between switches.
        planes: Planes: copies of the switches, each with a port of every host. Range: 1 to
            8. Default: 1.
    """

    leaves: int
    spines: int
    hosts_per_leaf: int
    host_link: LinkSpec
    fabric_link: LinkSpec
    kind: Literal["leaf-spine"] = field(default="leaf-spine", init=False)
    planes: Optional[int] = None


@dataclass
class Mesh(Section):
    """Every switch linked to every other.

    Attributes:
        switches: Switches. Range: at least 1.
        hosts_per_switch: Hosts on each switch. Range: at least 1.
        host_link: Links of hosts.
        fabric_link: Links between switches.
    """

    switches: int
    hosts_per_switch: int
    host_link: LinkSpec
    fabric_link: LinkSpec
    kind: Literal["mesh"] = field(default="mesh", init=False)


@dataclass
class FatTree(Section):
    """In each pod every ToR linked to every aggregation switch; aggregation switch `a` of
    every pod linked to the a-th group of cores.

    Attributes:
        pods: Pods. Range: at least 1.
        tors_per_pod: Top-of-rack switches in each pod. Range: at least 1.
        aggregations_per_pod: Aggregation switches in each pod. Range: at least 1.
        cores: Core switches; a multiple of the aggregation switches in a pod. Range: at
            least 1.
        hosts_per_tor: Hosts on each ToR. Range: at least 1.
        host_link: Links of hosts.
        fabric_link: Links between switches.
        planes: Planes: copies of the switches, each with a port of every host. Range: 1 to
            8. Default: 1.
    """

    pods: int
    tors_per_pod: int
    aggregations_per_pod: int
    cores: int
    hosts_per_tor: int
    host_link: LinkSpec
    fabric_link: LinkSpec
    kind: Literal["fat-tree"] = field(default="fat-tree", init=False)
    planes: Optional[int] = None


@dataclass
class TopologyFile(Section):
    """Read from a topology file.

    Attributes:
        path: Topology file, relative to the scenario.
    """

    path: str
    kind: Literal["file"] = field(default="file", init=False)

Topology = Union[Dumbbell, Star, LeafSpine, Mesh, FatTree, TopologyFile]
