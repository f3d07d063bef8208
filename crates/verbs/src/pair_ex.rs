//! Requests that are posted by `ibv_wr_*`: begun, described by several calls, and posted together.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairlane_softnic::{Operation, SendRequest, Service, Target};

use crate::abi::{
    ConditionRoom, DataBuf, IbvAh, IbvMw, IbvQp, IbvQpEx, MutexRoom, MwBindInfo, Sge, UdWr,
};
use crate::args::{Handle, In};
use crate::guard::{Errno, callback};
use crate::pair::{Qp, QpInner};
use crate::post;
use crate::turn::Turn;
use crate::window;

/// `enum ibv_qp_create_send_ops_flags`, as numbers of bits.
mod bit {
    pub(super) const WRITE: u32 = 0;
    pub(super) const WRITE_IMMEDIATE: u32 = 1;
    pub(super) const SEND: u32 = 2;
    pub(super) const SEND_IMMEDIATE: u32 = 3;
    pub(super) const READ: u32 = 4;
    pub(super) const COMPARE_SWAP: u32 = 5;
    pub(super) const FETCH_ADD: u32 = 6;
    pub(super) const INVALIDATE: u32 = 7;
    pub(super) const BIND: u32 = 8;
    pub(super) const SEND_INVALIDATE: u32 = 9;
}

/// Operations of a service.
const fn operations(service: Service) -> u64 {
    const SENDS: u64 = 1 << bit::SEND | 1 << bit::SEND_IMMEDIATE;
    const WRITES: u64 = 1 << bit::WRITE | 1 << bit::WRITE_IMMEDIATE;
    const WINDOWS: u64 = 1 << bit::BIND | 1 << bit::INVALIDATE | 1 << bit::SEND_INVALIDATE;
    const OTHERS: u64 = 1 << bit::READ | 1 << bit::COMPARE_SWAP | 1 << bit::FETCH_ADD | WINDOWS;
    match service {
        Service::UnreliableDatagram => SENDS,
        Service::UnreliableConnection => SENDS | WRITES,
        Service::ReliableConnection => SENDS | WRITES | OTHERS,
    }
}

/// Requests between `ibv_wr_start` and `ibv_wr_complete`.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    turn: Turn,
    state: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    requests: Vec<SendRequest>,
    /// Whether the request begun last is a datagram whose address hasn't been set.
    wants_address: bool,
    /// What was wrong first.
    failed: Option<Errno>,
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what was begun.
    fn end(&self) -> Open {
        let ended = std::mem::take(&mut *self.lock());
        self.turn.end();
        ended
    }
}

impl Open {
    /// Remembers what is wrong, if nothing was before.
    fn note(&mut self, outcome: Result<(), Errno>) {
        self.failed = self.failed.or_else(|| outcome.err());
    }

    /// The request begun last has all that it needs.
    const fn check_last(&self) -> Result<(), Errno> {
        match self.wants_address {
            true => Err(Errno::INVALID),
            false => Ok(()),
        }
    }
}

impl Qp {
    fn of<'a>(pair: *const IbvQpEx) -> Result<(&'a Self, &'a Batch), Errno> {
        let pair = Handle::<Self>(pair.cast()).get()?;
        Ok((pair, pair.own.batch.as_ref().ok_or(Errno::INVALID)?))
    }

    /// Begins a request with the number and flags that the program has put into the object.
    fn ask(pair: *const IbvQpEx, operation: Result<Operation, Errno>) -> Result<(), Errno> {
        let (pair, batch) = Self::of(pair)?;
        let id = pair.public.wr_id.load(Ordering::Relaxed);
        // What isn't set inline isn't: the flag means nothing here.
        let with = pair.public.wr_flags.load(Ordering::Relaxed) & !post::flags::INLINE;
        let request = operation.and_then(|operation| pair.own.request(id, operation, with));
        let mut open = batch.lock();
        let before = open.check_last();
        open.note(before);
        open.wants_address = pair.own.is_datagram();
        let begun = request.map(|request| open.requests.push(request));
        open.note(begun);
        Ok(())
    }

    /// Says more of the request begun last.
    fn describe(
        pair: *const IbvQpEx,
        describe: impl FnOnce(&QpInner, &mut SendRequest) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let (pair, batch) = Self::of(pair)?;
        let mut open = batch.lock();
        let last = open.requests.last_mut().ok_or(Errno::INVALID);
        let described = last.and_then(|request| describe(&pair.own, request));
        open.note(described);
        Ok(())
    }
}

/// The table of functions of a queue pair with these operations; `EOPNOTSUPP` if one isn't there.
pub(crate) fn functions(service: Service, asked: Option<u64>) -> Result<IbvQpEx, Errno> {
    let asked = asked.unwrap_or(0);
    if asked & !operations(service) != 0 {
        return Err(Errno::NOT_SUPPORTED);
    }
    let with = |bit: u32| asked >> bit & 1 != 0;
    let datagrams = service == Service::UnreliableDatagram;
    Ok(IbvQpEx {
        base: blank(),
        comp_mask: 0,
        wr_id: AtomicU64::new(0),
        wr_flags: AtomicU32::new(0),
        wr_atomic_cmp_swp: with(bit::COMPARE_SWAP).then_some(compare_swap as _),
        wr_atomic_fetch_add: with(bit::FETCH_ADD).then_some(fetch_add as _),
        wr_bind_mw: with(bit::BIND).then_some(bind as _),
        wr_local_inv: with(bit::INVALIDATE).then_some(invalidate as _),
        wr_rdma_read: with(bit::READ).then_some(read as _),
        wr_rdma_write: with(bit::WRITE).then_some(write as _),
        wr_rdma_write_imm: with(bit::WRITE_IMMEDIATE).then_some(write_immediate as _),
        wr_send: with(bit::SEND).then_some(send as _),
        wr_send_imm: with(bit::SEND_IMMEDIATE).then_some(send_immediate as _),
        wr_send_inv: with(bit::SEND_INVALIDATE).then_some(send_invalidate as _),
        wr_send_tso: None,
        wr_set_ud_addr: datagrams.then_some(set_address as _),
        wr_set_xrc_srqn: None,
        wr_set_inline_data: Some(set_inline),
        wr_set_inline_data_list: Some(set_inline_list),
        wr_set_sge: Some(set_piece),
        wr_set_sge_list: Some(set_pieces),
        wr_start: Some(start),
        wr_complete: Some(complete),
        wr_abort: Some(abort),
        wr_atomic_write: None,
        wr_flush: ptr::null(),
        room: [ptr::null(); 7],
    })
}

fn blank() -> IbvQp {
    IbvQp {
        context: ptr::null(),
        qp_context: ptr::null_mut(),
        pd: ptr::null(),
        send_cq: ptr::null(),
        recv_cq: ptr::null(),
        srq: ptr::null(),
        handle: 0,
        qp_num: 0,
        state: AtomicI32::new(0),
        qp_type: 0,
        mutex: MutexRoom::default(),
        cond: ConditionRoom::default(),
        events_completed: AtomicU32::new(0),
    }
}

const fn place(address: u64, key: u32) -> Target {
    Target { address, key }
}

/// A SEND: of datagrams the address is still to come.
fn sending(pair: *const IbvQpEx, immediate: Option<u32>) -> Result<(), Errno> {
    let (own, _) = Qp::of(pair)?;
    let operation = match (own.own.is_datagram(), immediate) {
        (true, immediate) => Operation::Datagram {
            address: own.own.nic.device.address(),
            destination: fairlane_softnic::QpNumber::new(0),
            queue_key: 0,
            immediate,
        },
        (false, None) => Operation::Send,
        (false, Some(immediate)) => Operation::SendImmediate(immediate),
    };
    Qp::ask(pair, Ok(operation))
}

/// Data that is taken along at once.
fn inline(own: &QpInner, request: &mut SendRequest, bytes: Vec<u8>) -> Result<(), Errno> {
    if bytes.len() > own.cap.max_inline_data as usize {
        return Err(Errno::INVALID);
    }
    request.inline = Some(bytes);
    Ok(())
}

callback! {
    fn start(pair: *const IbvQpEx) {
        Qp::of(pair)?.1.turn.begin();
        Ok(())
    }

    /// Posts all of it, or nothing if something was wrong.
    fn complete(pair: *const IbvQpEx) -> c_int {
        let (pair, batch) = Qp::of(pair)?;
        let open = batch.end();
        open.failed.map_or(Ok(()), Err)?;
        open.check_last()?;
        pair.own.nic.device.post_all(pair.own.number, open.requests)?;
        Ok(0)
    }

    fn abort(pair: *const IbvQpEx) {
        Qp::of(pair)?.1.end();
        Ok(())
    }

    fn compare_swap(pair: *const IbvQpEx, key: u32, address: u64, compare: u64, swap: u64) {
        Qp::ask(pair, Ok(Operation::CompareSwap(place(address, key), compare, swap)))
    }

    fn fetch_add(pair: *const IbvQpEx, key: u32, address: u64, add: u64) {
        Qp::ask(pair, Ok(Operation::FetchAdd(place(address, key), add)))
    }

    fn read(pair: *const IbvQpEx, key: u32, address: u64) {
        Qp::ask(pair, Ok(Operation::Read(place(address, key))))
    }

    fn write(pair: *const IbvQpEx, key: u32, address: u64) {
        Qp::ask(pair, Ok(Operation::Write(place(address, key))))
    }

    fn write_immediate(pair: *const IbvQpEx, key: u32, address: u64, immediate: u32) {
        let immediate = u32::from_be(immediate);
        Qp::ask(pair, Ok(Operation::WriteImmediate(place(address, key), immediate)))
    }

    fn send(pair: *const IbvQpEx) {
        sending(pair, None)
    }

    fn send_immediate(pair: *const IbvQpEx, immediate: u32) {
        sending(pair, Some(u32::from_be(immediate)))
    }

    fn invalidate(pair: *const IbvQpEx, key: u32) {
        Qp::ask(pair, Ok(Operation::Invalidate(key)))
    }

    fn bind(pair: *const IbvQpEx, window: *const IbvMw, key: u32, to: *const MwBindInfo) {
        let to = In(to).get();
        Qp::ask(pair, to.and_then(|to| window::binding(Handle(window), key, to)))
    }

    fn send_invalidate(pair: *const IbvQpEx, key: u32) {
        Qp::ask(pair, Ok(Operation::SendInvalidate(key)))
    }

    fn set_address(pair: *const IbvQpEx, ah: *const IbvAh, number: u32, key: u32) {
        Qp::describe(pair, |own, request| {
            let Operation::Datagram { immediate, .. } = request.operation else {
                return Err(Errno::INVALID);
            };
            let ud = UdWr { ah, remote_qpn: number, remote_qkey: key };
            request.operation = post::datagram(own, &ud, immediate)?;
            Ok(())
        })?;
        Qp::of(pair)?.1.lock().wants_address = false;
        Ok(())
    }

    fn set_piece(pair: *const IbvQpEx, key: u32, address: u64, length: u32) {
        Qp::describe(pair, |own, request| {
            let piece = Sge { addr: address, length, lkey: key };
            request.pieces = post::pieces(&[piece], own.cap.max_send_sge)?;
            Ok(())
        })
    }

    fn set_pieces(pair: *const IbvQpEx, count: usize, all: *const Sge) {
        Qp::describe(pair, |own, request| {
            request.pieces = post::pieces(In(all).array(count)?, own.cap.max_send_sge)?;
            Ok(())
        })
    }

    fn set_inline(pair: *const IbvQpEx, start: *const u8, length: usize) {
        Qp::describe(pair, |own, request| {
            inline(own, request, In(start).array(length)?.to_vec())
        })
    }

    fn set_inline_list(pair: *const IbvQpEx, count: usize, all: *const DataBuf) {
        Qp::describe(pair, |own, request| {
            let mut bytes = Vec::new();
            for piece in In(all).array(count)? {
                bytes.extend_from_slice(In(piece.addr).array(piece.length)?);
            }
            inline(own, request, bytes)
        })
    }
}
