//! A path, as REQ has two of them (IBTA 12.6.5).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | local and remote LID, none over Ethernet |
//! | 4 to 19, 20 to 35 | local and remote GID |
//! | 36 to 39 | flow label (20 bits), reserved (6), packet rate (6) |
//! | 40, 41 | traffic class, hop limit |
//! | 42 | service level (4 bits), subnet local (1) |
//! | 43 | local acknowledgement timeout (5 bits) |

use core::net::IpAddr;

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::wait::Wait;

/// An address of a port, 128 bits: for RoCEv2 an IPv6 address.
pub type Gid = [u8; 16];

/// The GID of an IP address: an IPv4 address is mapped into IPv6 (IBTA A17.4.5).
pub fn gid_of(address: IpAddr) -> Gid {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The IP address of a GID.
pub fn address_of(gid: Gid) -> IpAddr {
    IpAddr::from(gid).to_canonical()
}

/// A path between two ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The sender's LID, 0 or 0xffff over Ethernet.
    pub local_lid: u16,
    /// The receiver's LID, 0 or 0xffff over Ethernet.
    pub remote_lid: u16,
    /// The sender's GID.
    pub local_gid: Gid,
    /// The receiver's GID.
    pub remote_gid: Gid,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// The code of the rate that packets are sent with at most, 6 bits.
    pub packet_rate: u8,
    /// The traffic class.
    pub traffic_class: u8,
    /// How many routers packets may pass.
    pub hop_limit: u8,
    /// The service level, 4 bits.
    pub service_level: u8,
    /// Whether it doesn't leave the subnet.
    pub subnet_local: bool,
    /// How long the receiver should wait for an acknowledgement from the sender.
    pub ack_timeout: Wait,
}

impl Path {
    pub(crate) fn parse(from: &mut Reader<'_>) -> Self {
        let [local_lid, remote_lid] = [from.u16(), from.u16()];
        let [local_gid, remote_gid] = [from.array(), from.array()];
        let flow = from.u32();
        let [traffic_class, hop_limit, level, timeout] = from.array();
        Self {
            local_lid,
            remote_lid,
            local_gid,
            remote_gid,
            flow_label: flow >> 12,
            packet_rate: (flow & 0x3f) as u8,
            traffic_class,
            hop_limit,
            service_level: level >> 4,
            subnet_local: level & 8 != 0,
            ack_timeout: Wait::of_bits(timeout >> 3),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("path's flow label", self.flow_label, 20)?;
        fits("path's packet rate", self.packet_rate.into(), 6)?;
        fits("path's service level", self.service_level.into(), 4)?;
        to.u16(self.local_lid);
        to.u16(self.remote_lid);
        to.bytes(&self.local_gid);
        to.bytes(&self.remote_gid);
        to.u32(self.flow_label << 12 | u32::from(self.packet_rate));
        to.u8(self.traffic_class);
        to.u8(self.hop_limit);
        to.u8(self.service_level << 4 | u8::from(self.subnet_local) << 3);
        to.u8(self.ack_timeout.bits() << 3);
        Ok(())
    }
}
