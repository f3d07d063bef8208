//! What is known of the ICRC of packets that come from a socket.
//!
//! The ICRC covers the IP header, of which a UDP socket tells addresses and lengths but not the identification that IPv4 has.
//! With IPv6, everything that the ICRC covers is known.

use std::net::IpAddr;

use fairlane_wire::{Error, Icrc, IcrcDigest, Ipv4, Ipv6, Udp};

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

/// The longest headers in front of the transport's.
const OUTER: usize = Ipv6::LENGTH + Udp::LENGTH;

/// The IP and UDP headers of packets between two ports, as the ICRC has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    bytes: [u8; OUTER],
    /// Bytes of the IP header.
    network: usize,
    /// The packet length that the digest is for, from BTH to pad: most packets are as long as the one before.
    length: usize,
    digest: Option<IcrcDigest>,
}

impl Outer {
    /// `None` if the addresses aren't of one version of IP.
    pub(crate) fn new(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Option<Self> {
        const DONT_FRAGMENT: u8 = 0x40;
        let mut bytes = [0; OUTER];
        let network = match (source.0, destination.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                bytes[0] = 0x45;
                bytes[6] = DONT_FRAGMENT;
                bytes[9] = Udp::PROTOCOL;
                bytes[12..16].copy_from_slice(&from.octets());
                bytes[16..20].copy_from_slice(&to.octets());
                Ipv4::LENGTH
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                bytes[0] = 0x60;
                bytes[6] = Udp::PROTOCOL;
                bytes[8..24].copy_from_slice(&from.octets());
                bytes[24..40].copy_from_slice(&to.octets());
                Ipv6::LENGTH
            }
            _ => return None,
        };
        bytes[network..network + 2].copy_from_slice(&source.1.to_be_bytes());
        bytes[network + 2..network + 4].copy_from_slice(&destination.1.to_be_bytes());
        Some(Self {
            bytes,
            network,
            length: 0,
            digest: None,
        })
    }

    const fn is_ipv4(&self) -> bool {
        self.network == Ipv4::LENGTH
    }

    const fn headers(&self) -> usize {
        self.network + Udp::LENGTH
    }

    /// The ICRC of a packet, given from its BTH to its pad. Of IPv6, the identification has no meaning.
    ///
    /// # Errors
    /// If it ends before its BTH does, or a header of traffic management that it says to have.
    #[inline]
    pub(crate) fn icrc(&mut self, packet: &[u8], identification: u16) -> Result<Icrc, Error> {
        let mut digest = match self.digest {
            Some(digest) if self.length == packet.len() => digest,
            _ => self.begin(packet.len())?,
        };
        if self.is_ipv4() {
            digest = digest.identified(identification);
        }
        let Ok(rest) = digest.base(packet) else {
            // Switches may write to it.
            return digest.whole(packet).map(IcrcDigest::finish);
        };
        let mut hasher = crc32fast::Hasher::new_with_initial(digest.finish().get());
        hasher.update(rest);
        Ok(Icrc::new(hasher.finalize()))
    }

    /// The digest of the headers of packets of a length.
    fn begin(&mut self, length: usize) -> Result<IcrcDigest, Error> {
        let udp = Udp::LENGTH + length + Icrc::LENGTH;
        let (at, total) = match self.is_ipv4() {
            true => (2, self.network + udp),
            false => (4, udp),
        };
        self.bytes[at..at + 2].copy_from_slice(&(total as u16).to_be_bytes());
        let at = self.network + 4;
        self.bytes[at..at + 2].copy_from_slice(&(udp as u16).to_be_bytes());
        let digest = IcrcDigest::outer(&self.bytes[..self.headers()])?;
        (self.length, self.digest) = (length, Some(digest));
        Ok(digest)
    }
}

/// Whether the ICRC at the end of a packet that has come is as the mode wants it; `guess` is the identification that it
/// probably has, and becomes that which it has.
pub(crate) fn accept(mode: IcrcMode, outer: &mut Outer, packet: &[u8], guess: &mut u16) -> bool {
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
    if !outer.is_ipv4() {
        return false;
    }
    let length = outer.headers() + packet.len();
    let Some(identification) = computed.identification(found, *guess, length) else {
        return false;
    };
    *guess = identification;
    mode == IcrcMode::Solve || usize::from(identification) < SEGMENTS
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use fairlane_units::{Psn, QpNumber};
    use fairlane_wire::{Bth, Datagram, Extension, Network, Opcode, Packet};

    use super::*;

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn datagram(identification: u16, payload: &[u8]) -> Vec<u8> {
        let mut header = Ipv4::new(HERE, THERE);
        header.identification = identification;
        of(Network::Ipv4(header), payload)
    }

    fn of(network: Network, payload: &[u8]) -> Vec<u8> {
        let outer = network.length() + Udp::LENGTH;
        let bth = Bth::new(Opcode::RcSendOnly, QpNumber::new(9), Psn::new(77));
        let datagram = Datagram {
            network,
            udp: Udp::new(50_000),
            packet: Packet::new(bth, Extension::None, payload),
        };
        let mut bytes = vec![0; 5000];
        let length = datagram.emit(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes[outer..].to_vec()
    }

    fn outer() -> Outer {
        Outer::new((HERE.into(), 50_000), (THERE.into(), 4791)).unwrap()
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
            assert!(accept(IcrcMode::Solve, &mut outer(), &packet, &mut guess));
            assert_eq!(guess, identification);
            let takes = accept(IcrcMode::Strict, &mut outer(), &packet, &mut 0);
            assert_eq!(takes, strict, "{identification}");
        }
        let mut packet = datagram(0, &[3; 100]);
        packet[20] ^= 4;
        assert!(!accept(IcrcMode::Solve, &mut outer(), &packet, &mut 0));
        assert!(accept(IcrcMode::Ignore, &mut outer(), &packet, &mut 0));
        assert!(!accept(
            IcrcMode::Solve,
            &mut outer(),
            &packet[..10],
            &mut 0
        ));
        assert!(!accept(
            IcrcMode::Ignore,
            &mut outer(),
            &packet[..3],
            &mut 0
        ));
    }

    #[test]
    fn of_ipv6_every_bit_counts_in_every_mode_that_looks() {
        let (here, there) = (
            Ipv6Addr::new(0xfe80, 0, 0, 0, 1, 2, 3, 4),
            Ipv6Addr::LOCALHOST,
        );
        let mut outer = Outer::new((here.into(), 50_000), (there.into(), 4791)).unwrap();
        for length in [0, 1, 51, 1000, 4096] {
            let packet = of(Network::Ipv6(Ipv6::new(here, there)), &vec![0xa7; length]);
            for mode in [IcrcMode::Solve, IcrcMode::Strict] {
                assert!(accept(mode, &mut outer, &packet, &mut 7), "{length} bytes");
            }
            for bit in (0..packet.len() * 8)
                .filter(|bit| bit / 8 != 4)
                .step_by(997)
            {
                let mut packet = packet.clone();
                packet[bit / 8] ^= 1 << (bit % 8);
                assert!(
                    !accept(IcrcMode::Solve, &mut outer, &packet, &mut 0),
                    "bit {bit}"
                );
            }
        }
        assert!(Outer::new((here.into(), 1), (HERE.into(), 2)).is_none());
    }
}
