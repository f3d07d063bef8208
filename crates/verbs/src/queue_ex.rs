//! Completion queues that are read one completion at a time, and only what is asked for of each.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{ConditionRoom, CqInitAttrEx, IbvCq, IbvCqEx, MutexRoom, Wc};
use crate::args::{Handle, In, Out};
use crate::complete::translate;
use crate::context::Context;
use crate::guard::{Errno, callback};
use crate::queue::{Asked, Cq, create};
use crate::turn::Turn;

/// `IBV_WC_STANDARD_FLAGS`: what may be asked for.
const FIELDS: u64 = 0x7f;
/// `IBV_CREATE_CQ_ATTR_SINGLE_THREADED`, which changes nothing.
const FLAGS: u32 = 1;
/// `enum ibv_cq_init_attr_mask`
mod mask {
    pub(super) const FLAGS: u32 = 1;
    pub(super) const PARENT_DOMAIN: u32 = 1 << 1;
}
/// Completions that are fetched at a time.
const AHEAD: usize = 16;

/// Where a program is that polls one by one, between `start_poll` and `end_poll`.
#[derive(Debug, Default)]
pub(crate) struct Current {
    turn: Turn,
    fetched: Mutex<Fetched>,
}

#[derive(Debug, Default)]
struct Fetched {
    /// The completion that is read.
    current: Option<Wc>,
    /// Completions behind `current` that have been fetched.
    ahead: VecDeque<Wc>,
}

impl Current {
    fn lock(&self) -> MutexGuard<'_, Fetched> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets completions of a queue pair that has gone, but the one that is read.
    pub(crate) fn forget(&self, pair: u32) {
        self.lock().ahead.retain(|wc| wc.qp_num != pair);
    }
}

/// The table of functions of a completion queue of which so many fields may be read.
pub(crate) fn functions(fields: u64) -> IbvCqEx {
    let with = |bit: u32| fields >> bit & 1 != 0;
    IbvCqEx {
        base: blank(),
        comp_mask: 0,
        status: AtomicI32::new(0),
        wr_id: AtomicU64::new(0),
        start_poll: Some(start_poll),
        next_poll: Some(next_poll),
        end_poll: Some(end_poll),
        read_opcode: Some(read_opcode),
        read_vendor_err: Some(read_vendor_err),
        read_byte_len: with(0).then_some(read_byte_len as _),
        read_imm_data: with(1).then_some(read_imm_data as _),
        read_qp_num: with(2).then_some(read_qp_num as _),
        read_src_qp: with(3).then_some(read_src_qp as _),
        read_wc_flags: Some(read_wc_flags),
        read_slid: with(4).then_some(read_slid as _),
        read_sl: with(5).then_some(read_sl as _),
        read_dlid_path_bits: with(6).then_some(read_dlid_path_bits as _),
        read_completion_ts: None,
        read_cvlan: None,
        read_flow_tag: None,
        read_tm_info: None,
        read_completion_wallclock_ns: None,
    }
}

fn blank() -> IbvCq {
    IbvCq {
        context: std::ptr::null(),
        channel: std::ptr::null(),
        cq_context: std::ptr::null_mut(),
        handle: 0,
        cqe: AtomicI32::new(0),
        mutex: MutexRoom::default(),
        cond: ConditionRoom::default(),
        comp_events_completed: AtomicU32::new(0),
        async_events_completed: AtomicU32::new(0),
    }
}

impl Cq {
    /// Reads something of the completion that a program is at.
    fn read<T: Default>(&self, read: impl FnOnce(&Wc) -> T) -> T {
        let fetched = self.own.current.lock();
        fetched.current.as_ref().map(read).unwrap_or_default()
    }

    /// Goes to the next completion.
    fn advance(&self) -> Result<c_int, Errno> {
        let mut fetched = self.own.current.lock();
        fetched.current = None;
        if fetched.ahead.is_empty() {
            let mut polled = self.own.lock();
            let queue = self.own.queue;
            self.own.nic.device.poll(queue, AHEAD, &mut polled)?;
            fetched.ahead.extend(polled.iter().map(translate));
        }
        let next = fetched.ahead.pop_front().ok_or(Errno(libc::ENOENT))?;
        self.public.status.store(next.status, Ordering::Relaxed);
        self.public.wr_id.store(next.wr_id, Ordering::Relaxed);
        fetched.current = Some(next);
        Ok(0)
    }
}

callback! {
    fn create_cq_ex(context: Handle<Context>, attributes: Out<CqInitAttrEx>) -> *const IbvCqEx {
        let attributes = attributes.filled()?;
        let with = attributes.comp_mask;
        let flags = if with & mask::FLAGS != 0 { attributes.flags } else { 0 };
        let unknown = with & !(mask::FLAGS | mask::PARENT_DOMAIN) != 0 || flags & !FLAGS != 0;
        if unknown || attributes.wc_flags & !FIELDS != 0 {
            return Err(Errno::NOT_SUPPORTED);
        }
        let asked = Asked {
            room: attributes.cqe,
            vector: attributes.comp_vector,
            tag: attributes.cq_context,
            channel: Handle(attributes.channel),
            domain: (with & mask::PARENT_DOMAIN != 0).then_some(Handle(attributes.parent_domain)),
            fields: attributes.wc_flags,
        };
        create(context, &asked).map(<*const IbvCq>::cast)
    }

    /// Others wait until `end_poll`, which isn't called if this fails.
    fn start_poll(queue: *const IbvCqEx, attributes: In<u32>) -> c_int {
        if attributes.get().is_ok_and(|mask| *mask != 0) {
            return Err(Errno::INVALID);
        }
        let queue = Handle::<Cq>(queue.cast()).get()?;
        queue.own.current.turn.begin();
        let started = queue.advance();
        if started.is_err() {
            queue.own.current.turn.end();
        }
        started
    }

    fn next_poll(queue: *const IbvCqEx) -> c_int {
        Handle::<Cq>(queue.cast()).get()?.advance()
    }

    /// The completion that the program is at has been read.
    fn end_poll(queue: *const IbvCqEx) {
        let current = &Handle::<Cq>(queue.cast()).get()?.own.current;
        current.lock().current = None;
        current.turn.end();
        Ok(())
    }

    fn read_opcode(queue: *const IbvCqEx) -> c_int {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.opcode))
    }

    fn read_vendor_err(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.vendor_err))
    }

    fn read_byte_len(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.byte_len))
    }

    fn read_imm_data(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.imm_data))
    }

    fn read_qp_num(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.qp_num))
    }

    fn read_src_qp(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.src_qp))
    }

    fn read_wc_flags(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.wc_flags))
    }

    fn read_slid(queue: *const IbvCqEx) -> u32 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.slid.into()))
    }

    fn read_sl(queue: *const IbvCqEx) -> u8 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.sl))
    }

    fn read_dlid_path_bits(queue: *const IbvCqEx) -> u8 {
        Ok(Handle::<Cq>(queue.cast()).get()?.read(|wc| wc.dlid_path_bits))
    }
}
