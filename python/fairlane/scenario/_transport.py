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
        service: The service of queue pairs; all but `"rc"` serve `key-value` workloads
            only.
        ack_timeout: Time without progress after which the oldest unacknowledged packet is
            sent again (IBTA local ACK timeout; 4.096 us x 2^14 is what perftest sets);
            `"never"`: not at all. Default: "67.108864ms".
        retry_limit: Timeouts without progress after which the queue pair fails. Default: 7.
        nak_interval: Shortest time between two NAKs for the same packet. Default: "500us".
        ack_duplicates: Whether a duplicate packet is acknowledged again (IBTA 9.7.5.1.4) or
            ignored. Default: true.
        ack_interval: Every how many packets a sender asks for an acknowledgement; it also
            asks at the end of a message, when its window closes, and whenever it sends again.
            Default: 1.
        recovery: What is sent again after a loss. Default: "go-back-n".
        reorder_window: Packets that a receiver keeps out of order under selective repeat, 1
            to 65535. Default: 1024.
        reorder_tolerance: By how many packets one may overtake another before the one
            behind counts as lost, under selective repeat; left out, a base round trip of
            packets where switches let packets of a flow pass each other, else 0.
        direct_placement: Whether every packet of a WRITE carries its address (as a WRITE of
            its own), so that under selective repeat it is placed whenever it arrives. Default:
            false.
        ack_control_class: Whether acknowledgements travel in the control queue of switches,
            ahead of data, instead of in the class of the data that they acknowledge. Default:
            false.
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
