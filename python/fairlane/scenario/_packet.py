"""Packet of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from fairlane._section import Section
from fairlane.scenario._units import Bytes


@dataclass
class PacketSizes(Section):
    """Sizes on the wire.

    Attributes:
        mtu: Largest payload of one packet. Default: "1KiB".
        header: Headers and trailer of every data packet: Ethernet 14, IPv4 20, UDP 8, BTH
            12, ICRC 4, FCS 4. Default: "62B".
        first_header: Further header on the first packet of a WRITE and on a READ request:
            RETH 16. Headers of other operations have the sizes that the specification gives.
            Default: "16B".
        padding: Payload is padded to a multiple of this, a power of two. Default: "4B".
        ack: An acknowledgement without telemetry: the headers above with AETH 4. Default:
            "66B".
        ack_min: Shorter acknowledgements are padded to this. Default: "64B".
        telemetry: In-band telemetry on data packets and acknowledgements, if the congestion
            control needs it. Default: "42B".
        time_stamp: Time stamp on data packets and acknowledgements, if the congestion
            control needs round-trip times. Default: "8B".
        cnp: A congestion notification packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved
            16, ICRC 4, FCS 4. Default: "78B".
        pause: A pause frame. Default: "64B".
        gap: Idle bytes after every packet: preamble 8 and inter-packet gap 12. Default:
            "20B".
    """

    mtu: Optional[Bytes] = None
    header: Optional[Bytes] = None
    first_header: Optional[Bytes] = None
    padding: Optional[Bytes] = None
    ack: Optional[Bytes] = None
    ack_min: Optional[Bytes] = None
    telemetry: Optional[Bytes] = None
    time_stamp: Optional[Bytes] = None
    cnp: Optional[Bytes] = None
    pause: Optional[Bytes] = None
    gap: Optional[Bytes] = None
