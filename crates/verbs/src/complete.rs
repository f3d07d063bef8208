//! Completions that are polled.

use std::ffi::c_int;
use std::net::IpAddr;

use fairlane_softnic::{Completion, Done, Status};

use crate::abi::{OrMinus, Wc};
use crate::args::{Handle, Out};
use crate::guard::{Errno, callback};
use crate::queue::Cq;

/// `IBV_WC_RECV`: receives, whose bit it is.
const RECEIVE: c_int = 1 << 7;

/// `enum ibv_wc_status`.
pub(crate) const fn status(status: Status) -> c_int {
    match status {
        Status::Success => 0,
        Status::LocalLength => 1,
        Status::LocalProtection => 4,
        Status::Flushed => 5,
        Status::WindowBind => 6,
        Status::BadResponse => 7,
        Status::RemoteInvalidRequest => 9,
        Status::RemoteAccess => 10,
        Status::RemoteOperation => 11,
        Status::RetryExceeded => 12,
        Status::RnrRetryExceeded => 13,
    }
}

/// `enum ibv_wc_opcode`.
const fn opcode(done: Done) -> c_int {
    match done {
        Done::Send => 0,
        Done::Write => 1,
        Done::Read => 2,
        Done::CompareSwap => 3,
        Done::FetchAdd => 4,
        Done::Bind => 5,
        Done::Invalidate => 6,
        Done::Receive => RECEIVE,
        Done::ReceiveWrite => RECEIVE + 1,
    }
}

/// What mlx5 has in `sl` of a datagram, as RoCE has no service level there: the kind of its network header in the lower bits,
/// and that UDP follows. Programs tell by it which half of the 40 bytes in front of the data is a header (UCX until 1.17).
const fn header(sender: IpAddr) -> u8 {
    const IPV6: u8 = 1;
    const IPV4: u8 = 2;
    const UDP: u8 = 1 << 3;
    match sender {
        IpAddr::V4(_) => UDP | IPV4,
        IpAddr::V6(_) => UDP | IPV6,
    }
}

/// A completion as programs know it.
pub(crate) fn translate(completion: &Completion) -> Wc {
    const HEADER: u32 = 1;
    const IMMEDIATE: u32 = 1 << 1;
    const INVALIDATED: u32 = 1 << 3;
    let mut wc = Wc {
        wr_id: completion.id,
        status: status(completion.status),
        opcode: opcode(completion.done),
        byte_len: completion.length as u32,
        qp_num: completion.pair.get(),
        ..Wc::default()
    };
    wc.vendor_err = wc.status as u32;
    if let Some(immediate) = completion.immediate {
        wc.imm_data = immediate.to_be();
        wc.wc_flags |= IMMEDIATE;
    }
    if let Some(key) = completion.invalidated {
        wc.imm_data = key;
        wc.wc_flags |= INVALIDATED;
    }
    if let Some((sender, number)) = completion.source {
        wc.src_qp = number.get();
        wc.sl = header(sender);
        wc.wc_flags |= HEADER;
    }
    wc
}

callback! {
    fn poll_cq(queue: Handle<Cq>, most: c_int, completions: Out<Wc>) -> OrMinus<c_int> {
        let queue = queue.get()?;
        let most = usize::try_from(most).map_err(|_| Errno::INVALID)?;
        let into = completions.array(most)?;
        let mut polled = queue.own.lock();
        queue.own.nic.device.poll(queue.own.queue, most, &mut polled)?;
        let count = polled.len();
        for (to, completion) in into.iter_mut().zip(polled.drain(..)) {
            to.write(translate(&completion));
        }
        Ok(OrMinus(count as c_int))
    }
}
