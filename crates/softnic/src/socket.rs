//! UDP sockets: what the standard library has no words for.
//!
//! Invariants of the `unsafe` blocks: every pointer that a call gets is to a value or buffer that outlives the call,
//! and every length is that of what it points to. Control messages are read and written by bytes, within the length
//! that the kernel reports.
#![allow(
    unsafe_code,
    reason = "system calls that the standard library doesn't have"
)]

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

use fairlane_wire::{Ipv4, Ipv6, Udp};

use crate::batch::{Batch, MOST_BATCHES};
use crate::error::Error;

/// Datagrams that one call takes.
pub(crate) const DATAGRAMS: usize = 16;
/// The longest datagram, several packets put together.
const LONGEST: usize = 1 << 16;
/// Room for control messages: type of service and segment length.
const CONTROL: usize = 128;
/// ECT(0): packets may be marked.
const CAPABLE: libc::c_int = 2;

/// Room for control messages, aligned as they want it.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
struct Control([u8; CONTROL]);

fn set(socket: RawFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value lives on the stack and has that size.
    let done = unsafe { libc::setsockopt(socket, level, name, (&raw const value).cast(), size) };
    checked(done as isize).map(|_| ())
}

fn get(socket: RawFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: value and size live on the stack, and the size is that of the value.
    let done =
        unsafe { libc::getsockopt(socket, level, name, (&raw mut value).cast(), &raw mut size) };
    checked(done as isize).map(|_| value)
}

/// The error of a call that says so.
pub(crate) fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A local or remote end, as the system takes it: addresses that hold for a link only have the number of its interface.
pub(crate) const fn end(address: IpAddr, port: u16, interface: u32) -> SocketAddr {
    match address {
        IpAddr::V6(address) if address.is_unicast_link_local() => {
            SocketAddr::V6(SocketAddrV6::new(address, port, 0, interface))
        }
        other => SocketAddr::new(other, port),
    }
}

/// Options of every socket: don't fragment, which makes the IP identification that of the place in the call; may be marked.
fn prepare(socket: &UdpSocket, address: IpAddr) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    socket.set_nonblocking(true)?;
    if address.is_ipv6() {
        let (level, discover) = (libc::IPPROTO_IPV6, libc::IPV6_PMTUDISC_DO);
        set(fd, level, libc::IPV6_MTU_DISCOVER, discover)?;
        return set(fd, level, libc::IPV6_TCLASS, CAPABLE);
    }
    let (level, discover) = (libc::IPPROTO_IP, libc::IP_PMTUDISC_DO);
    set(fd, level, libc::IP_MTU_DISCOVER, discover)?;
    set(fd, level, libc::IP_TOS, CAPABLE)
}

/// Bytes that the path to a peer carries behind the IP header.
pub(crate) fn path_mtu(own: IpAddr, peer: IpAddr, interface: u32) -> io::Result<u32> {
    let socket = UdpSocket::bind(end(own, 0, interface))?;
    socket.connect(end(peer, Udp::ROCE_PORT, interface))?;
    let (level, name, header) = match own {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, Ipv4::LENGTH),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, Ipv6::LENGTH),
    };
    let mtu = get(socket.as_raw_fd(), level, name)?;
    Ok(u32::try_from(mtu)
        .unwrap_or(0)
        .saturating_sub(header as u32))
}

/// A datagram that has come, perhaps of several packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    pub(crate) source: SocketAddr,
    pub(crate) bytes: &'a [u8],
    /// Length of all packets but the last.
    pub(crate) segment: usize,
    /// Whether the network has marked it.
    pub(crate) marked: bool,
}

/// What the kernel says of a datagram.
#[derive(Clone, Copy, Debug)]
struct Told {
    source: SocketAddr,
    length: usize,
    segment: usize,
    marked: bool,
}

/// The socket that packets come to.
#[derive(Debug)]
pub(crate) struct Receiver {
    socket: UdpSocket,
    buffers: Vec<u8>,
    controls: [Control; DATAGRAMS],
    told: Vec<Told>,
    /// What the kernel grants.
    pub(crate) buffer: usize,
}

impl Receiver {
    /// One at an address, of an interface if it holds for a link only.
    pub(crate) fn open(
        (address, interface): (IpAddr, u32),
        buffer: u64,
        coalescing: bool,
    ) -> Result<Self, Error> {
        let socket = UdpSocket::bind(end(address, Udp::ROCE_PORT, interface));
        let socket = socket.map_err(|error| Error::Bind(address, error))?;
        let system = |what| move |error| Error::System(what, error);
        prepare(&socket, address).map_err(system("options of the socket"))?;
        let fd = socket.as_raw_fd();
        let (level, name) = match address {
            IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVTOS),
            IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
        };
        set(fd, level, name, 1).map_err(system("marks of congestion"))?;
        let wanted = libc::c_int::try_from(buffer).unwrap_or(libc::c_int::MAX);
        // More than the administrator allows takes a privilege; then it is what is allowed.
        let forced = set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, wanted);
        if forced.is_err() {
            set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, wanted).map_err(system("receive buffer"))?;
        }
        if coalescing {
            // Without it, packets come one by one.
            drop(set(fd, libc::SOL_UDP, libc::UDP_GRO, 1));
        }
        let granted =
            get(fd, libc::SOL_SOCKET, libc::SO_RCVBUF).map_err(system("receive buffer"))?;
        Ok(Self {
            socket,
            buffers: vec![0; DATAGRAMS * LONGEST],
            controls: [Control([0; CONTROL]); DATAGRAMS],
            told: Vec::with_capacity(DATAGRAMS),
            buffer: usize::try_from(granted).unwrap_or(0),
        })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Takes what has come; returns how many datagrams.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        self.told.clear();
        // SAFETY: all of these are plain numbers and pointers, of which zero is a value.
        let mut names: [libc::sockaddr_in6; DATAGRAMS] = unsafe { mem::zeroed() };
        // SAFETY: as before.
        let mut vectors: [libc::iovec; DATAGRAMS] = unsafe { mem::zeroed() };
        // SAFETY: as before.
        let mut headers: [libc::mmsghdr; DATAGRAMS] = unsafe { mem::zeroed() };
        let places = self
            .buffers
            .chunks_exact_mut(LONGEST)
            .zip(&mut self.controls);
        for (at, (buffer, control)) in places.enumerate() {
            vectors[at].iov_base = buffer.as_mut_ptr().cast();
            vectors[at].iov_len = LONGEST;
            let header = &mut headers[at].msg_hdr;
            header.msg_name = (&raw mut names[at]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            header.msg_iov = &raw mut vectors[at];
            header.msg_iovlen = 1;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL;
        }
        // SAFETY: headers, names, vectors, buffers and controls live until the end of this function.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                DATAGRAMS as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = checked(count as isize)?;
        for at in 0..count {
            let length = headers[at].msg_len as usize;
            let told = tell(&headers[at].msg_hdr, &names[at], length);
            self.told.push(told);
        }
        Ok(count)
    }

    /// One of those that have been taken.
    pub(crate) fn datagram(&self, at: usize) -> Datagram<'_> {
        let told = &self.told[at];
        Datagram {
            source: told.source,
            bytes: &self.buffers[at * LONGEST..][..told.length],
            segment: told.segment,
            marked: told.marked,
        }
    }
}

/// The end that a name of the system is.
fn end_of(name: &libc::sockaddr_in6) -> SocketAddr {
    let port = u16::from_be(name.sin6_port);
    if libc::c_int::from(name.sin6_family) == libc::AF_INET {
        // Where IPv6 has its flow label, IPv4 has the address.
        let address = Ipv4Addr::from(u32::from_be(name.sin6_flowinfo));
        return SocketAddr::new(address.into(), port);
    }
    SocketAddr::new(Ipv6Addr::from(name.sin6_addr.s6_addr).into(), port)
}

fn tell(header: &libc::msghdr, name: &libc::sockaddr_in6, length: usize) -> Told {
    const ECN: u8 = 3;
    let mut told = Told {
        source: end_of(name),
        length,
        segment: length.max(1),
        marked: false,
    };
    // SAFETY: the header is that of a call that has just filled it and its control messages.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: it is a control message within what the kernel has filled, and its data is of that type.
        unsafe {
            let data = libc::CMSG_DATA(control);
            match ((*control).cmsg_level, (*control).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => told.marked = data.read() & ECN == ECN,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    let class = data.cast::<libc::c_int>().read_unaligned();
                    told.marked = class as u8 & ECN == ECN;
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let segment = data.cast::<libc::c_int>().read_unaligned();
                    told.segment = usize::try_from(segment).unwrap_or(length).max(1);
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    told
}

/// The sockets that packets leave by, one a source port.
#[derive(Debug)]
pub(crate) struct Sender {
    address: IpAddr,
    sockets: Vec<UdpSocket>,
    interface: u32,
    /// The port of each.
    pub(crate) ports: Vec<u16>,
}

impl Sender {
    /// The first of the ports that RoCEv2 takes for itself (A17.9.1).
    pub(crate) const FIRST_PORT: u16 = 0xc000;

    pub(crate) fn open((address, interface): (IpAddr, u32), ports: u16) -> Result<Self, Error> {
        let (mut sockets, mut taken) = (Vec::new(), Vec::new());
        let mut candidates = Self::FIRST_PORT..=u16::MAX;
        while sockets.len() < usize::from(ports.max(1)) {
            let port = candidates.next().ok_or(Error::Exhausted("source port"))?;
            let Ok(socket) = UdpSocket::bind(end(address, port, interface)) else {
                continue;
            };
            prepare(&socket, address)
                .map_err(|error| Error::System("options of the socket", error))?;
            sockets.push(socket);
            taken.push(port);
        }
        Ok(Self {
            address,
            sockets,
            interface,
            ports: taken,
        })
    }

    /// Sends the first of these batches, and those behind it that leave by the same socket if the kernel cuts; returns how many.
    /// An error is about the first one.
    pub(crate) fn send(&self, batches: &[Batch], segmentation: bool) -> io::Result<usize> {
        let Some(first) = batches.first() else {
            return Ok(0);
        };
        let socket = self.sockets[first.way.socket].as_raw_fd();
        if first.count > 1 && !segmentation {
            return send_each(socket, self.name_of(first.way.peer), first);
        }
        let mine = |batch: &&Batch| {
            batch.way.socket == first.way.socket && (segmentation || batch.count <= 1)
        };
        let batches = batches.iter().take_while(mine);
        send_cut(
            socket,
            batches.map(|batch| (batch, self.name_of(batch.way.peer))),
        )
    }

    /// Whether an error of a batch of several packets says that the interface can't cut: that a packet is longer than the path
    /// carries is told by the same number as that.
    pub(crate) fn cannot_cut(&self, error: &io::Error, batch: &Batch) -> bool {
        match error.raw_os_error() {
            Some(libc::EIO) => true,
            Some(libc::EINVAL) => {
                let carries = path_mtu(self.address, batch.way.peer, self.interface);
                carries.is_ok_and(|carries| (Udp::LENGTH + batch.segment) as u32 <= carries)
            }
            _ => false,
        }
    }

    fn name_of(&self, peer: IpAddr) -> Name {
        name_of(end(peer, Udp::ROCE_PORT, self.interface))
    }
}

/// A name of the system, and its length.
type Name = (libc::sockaddr_in6, libc::socklen_t);

fn name_of(end: SocketAddr) -> Name {
    // SAFETY: it is plain numbers, of which zero is a value.
    let mut name: libc::sockaddr_in6 = unsafe { mem::zeroed() };
    name.sin6_port = end.port().to_be();
    match end {
        SocketAddr::V4(end) => {
            name.sin6_family = libc::AF_INET as libc::sa_family_t;
            // Where IPv6 has its flow label, IPv4 has the address.
            name.sin6_flowinfo = u32::from(*end.ip()).to_be();
            (name, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(end) => {
            name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            name.sin6_addr.s6_addr = end.ip().octets();
            name.sin6_scope_id = end.scope_id();
            (name, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

/// One call, in which the kernel cuts the bytes of each batch into packets.
fn send_cut<'a>(
    socket: RawFd,
    batches: impl Iterator<Item = (&'a Batch, Name)>,
) -> io::Result<usize> {
    let mut controls = [Control([0; CONTROL]); MOST_BATCHES];
    // SAFETY: all of these are plain numbers and pointers, of which zero is a value.
    let mut names: [libc::sockaddr_in6; MOST_BATCHES] = unsafe { mem::zeroed() };
    // SAFETY: as before.
    let mut vectors: [libc::iovec; MOST_BATCHES] = unsafe { mem::zeroed() };
    // SAFETY: as before.
    let mut headers: [libc::mmsghdr; MOST_BATCHES] = unsafe { mem::zeroed() };
    let mut count = 0;
    for (at, (batch, (name, length))) in batches.take(MOST_BATCHES).enumerate() {
        names[at] = name;
        vectors[at].iov_base = batch.bytes().as_ptr().cast_mut().cast();
        vectors[at].iov_len = batch.bytes().len();
        let header = &mut headers[at].msg_hdr;
        header.msg_name = (&raw mut names[at]).cast();
        header.msg_namelen = length;
        header.msg_iov = &raw mut vectors[at];
        header.msg_iovlen = 1;
        if batch.count > 1 {
            header.msg_control = controls[at].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL;
            // SAFETY: the room for control messages is aligned and larger than one with a u16.
            unsafe {
                let first = libc::CMSG_FIRSTHDR(&raw const *header);
                (*first).cmsg_level = libc::SOL_UDP;
                (*first).cmsg_type = libc::UDP_SEGMENT;
                (*first).cmsg_len = libc::CMSG_LEN(2) as usize;
                let segment = batch.segment as u16;
                libc::CMSG_DATA(first)
                    .cast::<u16>()
                    .write_unaligned(segment);
                header.msg_controllen = libc::CMSG_SPACE(2) as usize;
            }
        }
        count += 1;
    }
    // SAFETY: headers, names, vectors, bytes and controls live until the end of this function; sending changes lengths only.
    let sent = unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    checked(sent as isize)
}

/// A packet for each datagram, where the kernel can't cut.
fn send_each(socket: RawFd, (mut name, length): Name, batch: &Batch) -> io::Result<usize> {
    let mut vectors: Vec<libc::iovec> = batch
        .bytes()
        .chunks(batch.segment)
        .map(|packet| libc::iovec {
            iov_base: packet.as_ptr().cast_mut().cast(),
            iov_len: packet.len(),
        })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            // SAFETY: it is plain numbers and pointers, of which zero is a value.
            let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
            header.msg_hdr.msg_name = (&raw mut name).cast();
            header.msg_hdr.msg_namelen = length;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        })
        .collect();
    let count = headers.len() as libc::c_uint;
    // SAFETY: headers, name, vectors and bytes live until the end of this function.
    let sent = unsafe { libc::sendmmsg(socket, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    // Packets that didn't fit are lost as in the network.
    checked(sent as isize).map(|_| 1)
}
