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
        mtu: Largest payload of a packet. Source: IBTA path MTU. Range: 1B to 9KiB. Default:
            "1KiB".
        header: Headers of every data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4,
            FCS 4; under `hpcc-ns3` PPP 14, IPv4 20, UDP 8, sequence 6. Range: at most 65535B.
            Default: "62B".
        first_header: Extra header of the first packet of a WRITE and of a READ request:
            RETH 16. Other headers have the sizes of the specification. Range: at most 65535B.
            Default: "16B".
        padding: Payload is padded to a multiple of this, a power of two. Source: IBTA
            9.2.1, pad count. Range: 1B to 64B. Default: "4B".
        ack: Headers of an acknowledgement: those of `header` and AETH 4; under `hpcc-ns3`
            PPP 14, IPv4 20, 12. Range: 1B to 65535B. Default: "66B".
        ack_min: Acknowledgements, with telemetry, are padded to at least this. Range: at
            most 65535B. Default: "64B".
        telemetry: In-band telemetry, if the congestion control needs it: 5 hops of 8 bytes
            and 2. Shortest paths over more switches, at most 9, need more; under `hpcc-ns3`
            there are at most 5. Source: HPCC, section 4.1. Range: at most 65535B. Default:
            "42B".
        time_stamp: Time stamp of data packets and acknowledgements, if the congestion
            control needs round-trip times. Source: HPCC's artefact. Range: at most 65535B.
            Default: "8B".
        cnp: Congestion notification packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved
            16, ICRC 4, FCS 4. Source: IBTA annex A17. Range: 1B to 65535B. Default: "78B".
        pause: Pause frame. Range: 1B to 65535B. Default: "64B".
        gap: Idle bytes after every packet: preamble 8, inter-packet gap 12. Range: at most
            65535B. Default: "20B".
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
