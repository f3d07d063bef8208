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
        sample_interval: Interval of the per-port time series, which is kept; left out, 50
            us, doubled whenever there are 1024.
        ports: The ports that `sample_interval` is about, recorded apart from all others in
            `chosen.parquet`; left out, all.
        rate_interval: How often the rates that messages may be sent at are looked at, for
            `rates.csv`; left out, never.
        deadlock_interval: How often switches are looked at for waits in a circle, by which
            a run ends as stalled; left out, every 10 ms, or 20 base round trips if that is
            longer.
        trace_nodes: Nodes whose packets are recorded one by one in `packets.csv`. Default:
            [].
    """

    sample_interval: Optional[Duration] = None
    ports: Optional[List[CapturePoint]] = None
    rate_interval: Optional[Duration] = None
    deadlock_interval: Optional[Duration] = None
    trace_nodes: Optional[List[int]] = None
