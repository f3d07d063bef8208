"""Profile of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from typing import Literal

#: The rounding, ordering and formulas of the simulated fabric.
Profile = Literal["exact", "hpcc-ns3"]
