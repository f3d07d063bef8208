//! Queue pair 1, which carries management datagrams.
//!
//! Kernels keep that queue pair for themselves and their connection managers. Here the process has it, by an entry point that
//! only Fairlane's libibverbs has.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use fairlane_cm::{MAD_LENGTH, Mad, Peer, Transmit, gid_of};
use fairlane_units::QpNumber;
use fairlane_verbs_abi::{
    AhAttr, BindWr, Gid, GlobalRoute, IbvAh, IbvCompChannel, IbvContext, IbvCq, IbvMr, IbvPd,
    IbvQp, MwBindInfo, QpAttr, QpCap, QpInitAttr, RecvWr, SendWr, Sge, UdWr, Wc, WrUnion,
};

use crate::guard::Errno;
use crate::object::Ptr;
use crate::pair::{DATAGRAM, bit, state};

/// Receives that are posted, and sends that may be under way: as many as come while other work holds the lock.
const DEPTH: usize = 512;
/// MADs that may wait for a send to end.
const MOST_WAITING: usize = 8 * DEPTH;
/// Completions that are taken at a time, and how often, before others have their turn.
const ROUND: usize = 16;
const ROUNDS: usize = 8;
/// Room for a GRH and a MAD.
const RECEIVE: usize = 40 + MAD_LENGTH;
/// The key of every queue pair 1 (IBTA 13.5.1).
const KEY: u32 = 0x8001_0000;
/// In a request's number: it is a send.
const SEND: u64 = 1 << 32;

/// Queue pair 1 of a device.
#[derive(Debug)]
pub(crate) struct Gsi {
    domain: Ptr<IbvPd>,
    channel: Ptr<IbvCompChannel>,
    completions: Ptr<IbvCq>,
    pair: Ptr<IbvQp>,
    memory: Vec<u8>,
    region: Ptr<IbvMr>,
    gid_index: u8,
    /// The address handle of each send under way.
    under_way: [Option<Ptr<IbvAh>>; DEPTH],
    waiting: VecDeque<Transmit>,
}

impl Gsi {
    pub(crate) fn open(
        context: Ptr<IbvContext>,
        domain: Ptr<IbvPd>,
        gid_index: u8,
    ) -> Result<Self, Errno> {
        let (channel, completions) = context.completions(2 * DEPTH as u32, std::ptr::null_mut())?;
        let forget = || {
            completions.destroy();
            channel.destroy();
        };
        let mut attributes = QpInitAttr {
            qp_context: std::ptr::null_mut(),
            send_cq: completions.0,
            recv_cq: completions.0,
            srq: std::ptr::null(),
            cap: QpCap {
                max_send_wr: DEPTH as u32,
                max_recv_wr: DEPTH as u32,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: DATAGRAM,
            sq_sig_all: 1,
        };
        let pair = domain.create_management_pair(&raw mut attributes);
        let pair = pair.inspect_err(|_| forget())?;
        let mut memory = vec![0; DEPTH * (RECEIVE + MAD_LENGTH)];
        let region = domain.register(&mut memory).inspect_err(|_| {
            let _ = pair.destroy();
            forget();
        })?;
        let gsi = Self {
            domain,
            channel,
            completions,
            pair,
            memory,
            region,
            gid_index,
            under_way: [None; DEPTH],
            waiting: VecDeque::new(),
        };
        gsi.begin()?;
        Ok(gsi)
    }

    fn begin(&self) -> Result<(), Errno> {
        let attributes = QpAttr {
            qp_state: state::INIT,
            port_num: 1,
            qkey: KEY,
            ..QpAttr::default()
        };
        let init = bit::STATE | bit::PKEY_INDEX | bit::PORT | bit::QKEY;
        self.pair.modify(&attributes, init)?;
        let step = |qp_state| QpAttr {
            qp_state,
            ..attributes
        };
        self.pair.modify(&step(state::RTR), bit::STATE)?;
        self.pair
            .modify(&step(state::RTS), bit::STATE | bit::SQ_PSN)?;
        for slot in 0..DEPTH {
            self.post_receive(slot)?;
        }
        self.completions.arm()
    }

    /// A descriptor that is readable when something has come.
    pub(crate) fn fd(&self) -> c_int {
        self.channel.fd()
    }

    fn receive_room(slot: usize) -> std::ops::Range<usize> {
        slot * RECEIVE..(slot + 1) * RECEIVE
    }

    fn send_room(slot: usize) -> std::ops::Range<usize> {
        let begin = DEPTH * RECEIVE + slot * MAD_LENGTH;
        begin..begin + MAD_LENGTH
    }

    fn piece(&self, room: std::ops::Range<usize>) -> Sge {
        Sge {
            addr: self
                .memory
                .as_ptr()
                .wrapping_add(room.start)
                .expose_provenance() as u64,
            length: room.len() as u32,
            lkey: self.region.local_key(),
        }
    }

    fn post_receive(&self, slot: usize) -> Result<(), Errno> {
        let piece = self.piece(Self::receive_room(slot));
        self.pair.post_receive(&mut RecvWr {
            wr_id: slot as u64,
            next: std::ptr::null_mut(),
            sg_list: &raw const piece,
            num_sge: 1,
        })
    }

    /// Sends a MAD, when there is room. Where too many wait it is lost; the manager repeats it.
    pub(crate) fn send(&mut self, transmit: Transmit) {
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(transmit);
        }
        self.send_waiting();
    }

    /// Waits until all is sent, at most until then.
    pub(crate) fn finish(&mut self, until: Instant) {
        let is_busy =
            |gsi: &Self| !gsi.waiting.is_empty() || gsi.under_way.iter().any(Option::is_some);
        while is_busy(self) && Instant::now() < until {
            self.take(false, |_, _| {});
        }
    }

    fn send_waiting(&mut self) {
        while let Some(slot) = self.under_way.iter().position(Option::is_none) {
            let Some(transmit) = self.waiting.pop_front() else {
                return;
            };
            // What can't be sent is lost; the manager repeats it.
            let _ = self.post_send(slot, &transmit);
        }
    }

    fn post_send(&mut self, slot: usize, transmit: &Transmit) -> Result<(), Errno> {
        let handle = self
            .domain
            .create_handle(&way_to(transmit.to.address, self.gid_index))?;
        self.memory[Self::send_room(slot)].copy_from_slice(&transmit.mad);
        let piece = self.piece(Self::send_room(slot));
        let ud = UdWr {
            ah: handle.0,
            remote_qpn: transmit.to.queue_pair.get(),
            remote_qkey: KEY,
        };
        let posted = self.pair.post_send(&mut SendWr {
            wr_id: SEND | slot as u64,
            next: std::ptr::null_mut(),
            sg_list: &raw const piece,
            num_sge: 1,
            // IBV_WR_SEND, IBV_SEND_SIGNALED
            opcode: 2,
            send_flags: 2,
            imm_data: 0,
            wr: WrUnion { ud },
            xrc_remote_srqn: 0,
            bind_mw: BindWr {
                mw: std::ptr::null(),
                rkey: 0,
                bind_info: MwBindInfo {
                    mr: std::ptr::null(),
                    addr: 0,
                    length: 0,
                    mw_access_flags: 0,
                },
            },
        });
        match posted {
            Ok(()) => self.under_way[slot] = Some(handle),
            Err(_) => handle.destroy(),
        }
        posted
    }

    /// Some of what has come since the last time; returns whether there may be more. `woken` if its descriptor has said so.
    pub(crate) fn take(&mut self, woken: bool, mut hear: impl FnMut(Peer, &Mad)) -> bool {
        if woken {
            self.channel.take_event();
            // Before polling: what comes after that makes another event.
            let _ = self.completions.arm();
        }
        let mut completions = [Wc::default(); ROUND];
        for _ in 0..ROUNDS {
            let count = self.completions.poll(&mut completions);
            for completion in &completions[..count] {
                self.complete(completion, &mut hear);
            }
            self.send_waiting();
            if count < completions.len() {
                return false;
            }
        }
        true
    }

    fn complete(&mut self, completion: &Wc, hear: &mut impl FnMut(Peer, &Mad)) {
        let slot = (completion.wr_id & (SEND - 1)) as usize % DEPTH;
        if completion.wr_id & SEND != 0 {
            if let Some(handle) = self.under_way[slot].take() {
                handle.destroy();
            }
            return;
        }
        let room = &self.memory[Self::receive_room(slot)];
        if completion.status == 0
            && completion.byte_len as usize == RECEIVE
            && let Some((header, mad)) = room.split_first_chunk::<40>()
            && let (Some(address), Ok(mad)) = (source(header), mad.try_into())
        {
            let queue_pair = QpNumber::new(completion.src_qp);
            let peer = Peer {
                address,
                queue_pair,
            };
            hear(peer, mad);
        }
        let _ = self.post_receive(slot);
    }
}

impl Drop for Gsi {
    fn drop(&mut self) {
        // Before the memory that it receives into.
        let _ = self.pair.destroy();
        self.region.deregister();
        self.completions.destroy();
        self.channel.destroy();
    }
}

/// Attributes of a way to an address.
pub(crate) fn way_to(address: IpAddr, gid_index: u8) -> AhAttr {
    AhAttr {
        grh: GlobalRoute {
            dgid: Gid {
                raw: gid_of(address),
            },
            flow_label: 0,
            sgid_index: gid_index,
            hop_limit: 64,
            traffic_class: 0,
        },
        is_global: 1,
        port_num: 1,
        ..AhAttr::default()
    }
}

/// Who has sent a datagram, by the IP header in front of it: one of IPv6, or 20 bytes and one of IPv4 (IBTA A17.4.5.1).
fn source(header: &[u8; 40]) -> Option<IpAddr> {
    let at = |from: usize| header.get(from..from + 4)?.try_into().ok();
    match (header[0] >> 4, header[20] >> 4) {
        (6, _) => {
            let octets: [u8; 16] = header.get(8..24)?.try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)))
        }
        (_, 4) => at(32).map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets))),
        _ => None,
    }
}
