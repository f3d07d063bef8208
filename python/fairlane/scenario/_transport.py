"""Transport of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from fairlane._section import Section
from fairlane.scenario._units import Duration

#: The service of queue pairs (IBTA 9.1).
Service = Literal["rc", "uc", "ud"]

#: What is sent again after a loss.
Recovery = Literal["go-back-n", "selective-repeat"]


@dataclass
class Transport(Section):
    """The queue-pair protocol.

    Attributes:
        service: Service of queue pairs; all but `"rc"` are for `key-value` workloads only.
            Default: "rc".
        ack_timeout: Time without progress until the oldest unacknowledged packet is sent
            again; `"never"`: not at all. Source: IBTA local ACK timeout 14, 4.096 us x 2^14.
            Range: above 0. Default: "67.108864ms".
        retry_limit: Timeouts without progress until the queue pair fails. Source: IBTA's
            largest. Default: 7.
        nak_interval: Least time between two NAKs for one packet. Source: HPCC's artefact.
            Default: "500us".
        ack_duplicates: Whether duplicate packets are acknowledged again (IBTA 9.7.5.1.4),
            else ignored. Default: true.
        ack_interval: Packets per acknowledgement request. A sender also requests one at the
            end of a message, when its window closes (one packet late if the window shrinks) and
            when it sends again. Range: 1 to 65536. Default: 1.
        recovery: What is sent again after a loss. Default: "go-back-n".
        reorder_window: Packets of WRITEs that a receiver keeps out of order under selective
            repeat. Range: 1 to 65535. Default: 1024.
        reorder_tolerance: Under selective repeat, by how many packets one may overtake
            another before the other counts as lost; less than `reorder_window`. Left out, the
            largest bandwidth-delay product in packets if `switch.forwarding` isn't `"ecmp"`,
            else 0. Source: RFC 8985, section 6.2: at most a round trip.
        direct_placement: Whether every packet of a WRITE carries its address, like a WRITE
            of its own, so that selective repeat places it on arrival. Default: false.
        ack_control_class: Whether acknowledgements use the switches' control queue, ahead
            of data. Default: false.
    """

    service: Optional[Service] = None
    ack_timeout: Optional[str] = None
    retry_limit: Optional[int] = None
    nak_interval: Optional[Duration] = None
    ack_duplicates: Optional[bool] = None
    ack_interval: Optional[int] = None
    recovery: Optional[Recovery] = None
    reorder_window: Optional[int] = None
    reorder_tolerance: Optional[int] = None
    direct_placement: Optional[bool] = None
    ack_control_class: Optional[bool] = None
