"""RDMA traffic management for shared data centres.

:func:`run` simulates a scenario and gives its results as Arrow tables, :func:`sweep` runs many with
means and intervals, :func:`compare` puts runs side by side, ``fairlane.plot`` draws them. :func:`attack`
and :func:`reproduce` are the commands of these names, and ``fairlane.drum`` finds the optimal shares of
queue pairs and completion queues. Nothing else needs to be installed to import it: numpy is loaded
where arrays are asked for, matplotlib where something is drawn, Ray where runs go to a cluster.
"""

from fairlane import drum, plot, scenario
from fairlane._native import Table, __version__
from fairlane.comparison import compare
from fairlane.errors import (
    FairlaneError,
    Interrupted,
    MissingError,
    ScenarioError,
    SweepError,
    WriteError,
)
from fairlane.experiments import Outcome, Verdict, attack, experiments, reproduce
from fairlane.scenario import Scenario
from fairlane.simulate import Report, Run, load, paths, run, topology
from fairlane.sweeps import Progress, Sweep, sweep

__all__ = [
    "FairlaneError",
    "Interrupted",
    "MissingError",
    "Outcome",
    "Progress",
    "Report",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "Table",
    "Verdict",
    "WriteError",
    "__version__",
    "attack",
    "compare",
    "drum",
    "experiments",
    "load",
    "paths",
    "plot",
    "reproduce",
    "run",
    "scenario",
    "sweep",
    "topology",
]
