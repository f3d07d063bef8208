//! What is known of the ICRC of packets that come from a socket.
//!
//! The ICRC covers the IP header, of which a UDP socket tells addresses and lengths but not the identification.

use std::net::Ipv4Addr;

use fairlane_wire::{Bth, Error, Icrc, IcrcDigest, Ipv4, Udp};

/// What is done about ICRCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IcrcMode {
    /// Packets are taken for which there is an IP identification that makes the ICRC right: 16 of its 32 bits check.
    #[default]
    Solve,
    /// The identification must be below 64, as that of devices like this one: 26 bits check.
    Strict,
    /// Packets are taken whatever their ICRC is.
    Ignore,
}

/// Segments of one call, and so identifications that devices like this one use.
pub(crate) const SEGMENTS: usize = 64;

/// Headers in front of the transport's.
const OUTER: usize = Ipv4::LENGTH + Udp::LENGTH;

/// The IP and UDP headers of packets between two ports, as the ICRC has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    bytes: [u8; OUTER],
}

impl Outer {
    pub(crate) fn new(source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> Self {
        const DONT_FRAGMENT: u8 = 0x40;
        let mut bytes = [0; OUTER];
        bytes[0] = 0x45;
        bytes[6] = DONT_FRAGMENT;
        bytes[9] = Udp::PROTOCOL;
        bytes[12..16].copy_from_slice(&source.0.octets());
        bytes[16..20].copy_from_slice(&destination.0.octets());
        bytes[20..22].copy_from_slice(&source.1.to_be_bytes());
        bytes[22..24].copy_from_slice(&destination.1.to_be_bytes());
        Self { bytes }
    }

    /// The ICRC of a packet, given from its BTH to its pad.
    ///
    /// # Errors
    /// If it ends before its BTH does, or has a header of traffic management that switches write to.
    pub(crate) fn icrc(&self, packet: &[u8], identification: u16) -> Result<Icrc, Error> {
        let mut bytes = [0; OUTER + Bth::LENGTH];
        bytes[..OUTER].copy_from_slice(&self.bytes);
        let udp = Udp::LENGTH + packet.len() + Icrc::LENGTH;
        let total = Ipv4::LENGTH + udp;
        bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&identification.to_be_bytes());
        bytes[24..26].copy_from_slice(&(udp as u16).to_be_bytes());
        let begin = packet.len().min(Bth::LENGTH);
        bytes[OUTER..OUTER + begin].copy_from_slice(&packet[..begin]);
        let first = IcrcDigest::new(&bytes[..OUTER + begin])?.finish();
        let mut rest = crc32fast::Hasher::new_with_initial(first.get());
        rest.update(&packet[begin..]);
        Ok(Icrc::new(rest.finalize()))
    }
}

/// Whether the ICRC at the end of a packet that has come is as the mode wants it; `guess` is the identification that it
/// probably has, and becomes that which it has.
pub(crate) fn accept(mode: IcrcMode, outer: &Outer, packet: &[u8], guess: &mut u16) -> bool {
    let Some((packet, found)) = packet.split_last_chunk() else {
        return false;
    };
    let found = Icrc::from_bytes(*found);
    if mode == IcrcMode::Ignore {
        return true;
    }
    let Ok(computed) = outer.icrc(packet, *guess) else {
        return false;
    };
    if computed == found {
        return true;
    }
    let length = OUTER + packet.len();
    let Some(identification) = computed.identification(found, *guess, length) else {
        return false;
    };
    *guess = identification;
    mode == IcrcMode::Solve || usize::from(identification) < SEGMENTS
}

#[cfg(test)]
mod tests {
    use fairlane_units::{Psn, QpNumber};
    use fairlane_wire::{Datagram, Extension, Network, Opcode, Packet};

    use super::*;

    fn datagram(identification: u16, payload: &[u8]) -> Vec<u8> {
        let (here, there) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mut header = Ipv4::new(here, there);
        header.identification = identification;
        let bth = Bth::new(Opcode::RcSendOnly, QpNumber::new(9), Psn::new(77));
        let datagram = Datagram {
            network: Network::Ipv4(header),
            udp: Udp::new(50_000),
            packet: Packet::new(bth, Extension::None, payload),
        };
        let mut bytes = vec![0; 5000];
        let length = datagram.emit(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes[OUTER..].to_vec()
    }

    fn outer() -> Outer {
        let (here, there) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        Outer::new((here, 50_000), (there, 4791))
    }

    #[test]
    fn it_is_the_one_of_whole_datagrams() {
        for length in [0, 1, 4, 51, 52, 1000, 4096] {
            let packet = datagram(5, &vec![0xa7; length]);
            let (body, icrc) = packet.split_last_chunk().unwrap();
            assert_eq!(outer().icrc(body, 5), Ok(Icrc::from_bytes(*icrc)));
        }
    }

    #[test]
    fn modes_take_what_they_say() {
        for (identification, strict) in [(0, true), (63, true), (64, false), (0xb70d, false)] {
            let packet = datagram(identification, &[3; 100]);
            let mut guess = 0;
            assert!(accept(IcrcMode::Solve, &outer(), &packet, &mut guess));
            assert_eq!(guess, identification);
            let takes = accept(IcrcMode::Strict, &outer(), &packet, &mut 0);
            assert_eq!(takes, strict, "{identification}");
        }
        let mut packet = datagram(0, &[3; 100]);
        packet[20] ^= 4;
        assert!(!accept(IcrcMode::Solve, &outer(), &packet, &mut 0));
        assert!(accept(IcrcMode::Ignore, &outer(), &packet, &mut 0));
        assert!(!accept(IcrcMode::Solve, &outer(), &packet[..10], &mut 0));
        assert!(!accept(IcrcMode::Ignore, &outer(), &packet[..3], &mut 0));
    }
}
