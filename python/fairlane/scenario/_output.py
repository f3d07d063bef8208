"""Output of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from fairlane._section import Section
from fairlane.scenario._units import CapturePoint, Duration


@dataclass
class Output(Section):
    """What is recorded.

    Attributes:
        sample_interval: Interval of the per-port time series; left out, 50 us, doubled
            whenever there are 1,024 intervals. There may be 16,777,216 samples (ports times
            intervals, 640 MiB): with more, a scenario with a `stop` is refused, else the
            interval doubles with a warning. `summary.json` has the final one. Range: above 0.
        ports: Ports, written as in `capture`, that are sampled at `sample_interval` into
            `chosen.parquet`; `ports.parquet` then has all ports at the default interval. Left
            out, all. Default: [].
        rate_interval: How often the send rates of messages' queue pairs are sampled for
            `rates.csv`; left out, never. Needs `congestion.scope` `"qp"` or `"none"`. Range:
            above 0.
        deadlock_interval: How often switches are searched for circular waits; one that
            lasts ends the run as stalled. Left out, every 10 ms, or 20 base round trips if
            longer. Range: above 0.
        trace_nodes: Nodes whose packets are recorded one by one in `packets.csv`. Default:
            [].
    """

    sample_interval: Optional[Duration] = None
    ports: Optional[List[CapturePoint]] = None
    rate_interval: Optional[Duration] = None
    deadlock_interval: Optional[Duration] = None
    trace_nodes: Optional[List[int]] = None
