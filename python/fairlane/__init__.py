"""RDMA traffic management for shared data centres.

``fairlane.drum`` finds the optimal shares of queue pairs and completion queues.
"""

from fairlane import drum
from fairlane._native import __version__

__all__ = ["__version__", "drum"]
