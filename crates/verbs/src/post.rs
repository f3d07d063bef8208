//! Requests and receives that are posted, the older way.
#![allow(
    unsafe_code,
    reason = "which field of a union is filled follows from the operation"
)]

use std::ffi::c_int;

use fairlane_softnic::{Error, Operation, QpNumber, ReceiveRequest, SendRequest, Target};

use crate::abi::{RecvWr, SendWr, Sge, UdWr};
use crate::args::{Handle, In, Linked, Out, each, nth};
use crate::guard::{Errno, callback};
use crate::handle::Ah;
use crate::pair::{Qp, QpInner};
use crate::shared_queue::Srq;
use crate::window;

impl Linked for SendWr {
    fn next(&self) -> *mut Self {
        self.next
    }
}

impl Linked for RecvWr {
    fn next(&self) -> *mut Self {
        self.next
    }
}

/// `enum ibv_send_flags`.
pub(crate) mod flags {
    pub(crate) const FENCE: u32 = 1;
    pub(crate) const SIGNALED: u32 = 1 << 1;
    pub(crate) const SOLICITED: u32 = 1 << 2;
    pub(crate) const INLINE: u32 = 1 << 3;
    /// Checksums of IP are for raw packets; elsewhere the flag means nothing.
    pub(crate) const ALL: u32 = (1 << 5) - 1;
}

/// The queue key of the destination says that the queue pair's own is to be used (IBTA 10.2.5).
const OWN_KEY: u32 = 1 << 31;

/// Pieces of memory as the device knows them.
pub(crate) fn pieces(all: &[Sge], most: u32) -> Result<Vec<fairlane_softnic::Sge>, Errno> {
    if all.len() > most as usize {
        return Err(Errno::INVALID);
    }
    let piece = |own: &Sge| fairlane_softnic::Sge {
        address: own.addr,
        length: own.length,
        key: own.lkey,
    };
    Ok(all.iter().map(piece).collect())
}

/// The bytes of pieces of memory, which need no key then.
fn inline(all: &[Sge], most: u32) -> Result<Vec<u8>, Errno> {
    let length: u64 = all.iter().map(|own| u64::from(own.length)).sum();
    if length > most.into() {
        return Err(Errno::INVALID);
    }
    let mut bytes = Vec::with_capacity(length as usize);
    for own in all {
        let start = std::ptr::with_exposed_provenance::<u8>(own.addr as usize);
        bytes.extend_from_slice(In(start).array(own.length as usize)?);
    }
    Ok(bytes)
}

/// Where a datagram goes.
pub(crate) fn datagram(
    own: &QpInner,
    ud: &UdWr,
    immediate: Option<u32>,
) -> Result<Operation, Errno> {
    let queue_key = match ud.remote_qkey & OWN_KEY {
        0 => ud.remote_qkey,
        _ => own.attributes().qkey,
    };
    Ok(Operation::Datagram {
        address: Handle::<Ah>(ud.ah).get()?.own.address,
        destination: QpNumber::new(ud.remote_qpn),
        queue_key,
        immediate,
    })
}

/// What `enum ibv_wr_opcode` asks for.
fn operation(own: &QpInner, request: &SendWr) -> Result<Operation, Errno> {
    let immediate = u32::from_be(request.imm_data);
    if own.is_datagram() {
        // SAFETY: requests of such a queue pair have this field.
        let ud = unsafe { &request.wr.ud };
        return match request.opcode {
            2 => datagram(own, ud, None),
            3 => datagram(own, ud, Some(immediate)),
            _ => Err(Errno::INVALID),
        };
    }
    // SAFETY: requests that WRITE or READ have this field; others don't use it. Any bytes are a value.
    let rdma = unsafe { request.wr.rdma };
    let target = Target {
        address: rdma.remote_addr,
        key: rdma.rkey,
    };
    // SAFETY: atomics have this field; others don't use it. Any bytes are a value.
    let atomic = unsafe { request.wr.atomic };
    let place = Target {
        address: atomic.remote_addr,
        key: atomic.rkey,
    };
    Ok(match request.opcode {
        0 => Operation::Write(target),
        1 => Operation::WriteImmediate(target, immediate),
        2 => Operation::Send,
        3 => Operation::SendImmediate(immediate),
        4 => Operation::Read(target),
        5 => Operation::CompareSwap(place, atomic.compare_add, atomic.swap),
        6 => Operation::FetchAdd(place, atomic.compare_add),
        7 => Operation::Invalidate(request.imm_data),
        8 => {
            let to = &request.bind_mw;
            window::binding(Handle(to.mw), to.rkey, &to.bind_info)?
        }
        9 => Operation::SendInvalidate(request.imm_data),
        _ => return Err(Errno::INVALID),
    })
}

/// A request as the device knows it.
fn translate(own: &QpInner, request: &SendWr) -> Result<SendRequest, Errno> {
    let count = usize::try_from(request.num_sge).map_err(|_| Errno::INVALID)?;
    let all = In(request.sg_list).array(count)?;
    let operation = operation(own, request)?;
    let mut made = own.request(request.wr_id, operation, request.send_flags)?;
    let cap = &own.cap;
    if request.send_flags & flags::INLINE == 0 {
        made.pieces = pieces(all, cap.max_send_sge)?;
    } else {
        pieces(all, cap.max_send_sge)?;
        made.inline = Some(inline(all, cap.max_inline_data)?);
    }
    Ok(made)
}

fn receive(request: &RecvWr, most: u32) -> Result<ReceiveRequest, Errno> {
    let count = usize::try_from(request.num_sge).map_err(|_| Errno::INVALID)?;
    Ok(ReceiveRequest {
        id: request.wr_id,
        pieces: pieces(In(request.sg_list).array(count)?, most)?,
    })
}

/// Posts a list; those in front of one that isn't taken are posted (as `ibv_post_send` promises). That one is told.
fn post_list<T: Linked + 'static, R>(
    first: Out<T>,
    bad: Out<*mut T>,
    translate: impl Fn(&T) -> Result<R, Errno>,
    post: impl FnOnce(Vec<R>) -> Result<(), (usize, Error)>,
) -> Result<(), Errno> {
    let mut requests = Vec::new();
    let translated = each(first, bad, |request| {
        requests.push(translate(request)?);
        Ok(())
    });
    if let Err((at, error)) = post(requests) {
        bad.set(nth(first, at))?;
        return Err(error.into());
    }
    translated
}

callback! {
    fn post_send(pair: Handle<Qp>, first: Out<SendWr>, bad: Out<*mut SendWr>) -> c_int {
        let own = &pair.get()?.own;
        post_list(first, bad, |request| translate(own, request), |all| {
            own.nic.device.post_sends(own.number, all)
        })?;
        Ok(0)
    }

    fn post_recv(pair: Handle<Qp>, first: Out<RecvWr>, bad: Out<*mut RecvWr>) -> c_int {
        let own = &pair.get()?.own;
        post_list(first, bad, |request| receive(request, own.cap.max_recv_sge), |all| {
            own.nic.device.post_receives(own.number, all)
        })?;
        Ok(0)
    }

    fn post_srq_recv(srq: Handle<Srq>, first: Out<RecvWr>, bad: Out<*mut RecvWr>) -> c_int {
        let own = &srq.get()?.own;
        post_list(first, bad, |request| receive(request, own.pieces), |all| {
            own.nic.device.post_all_shared(own.queue, all)
        })?;
        Ok(0)
    }
}
