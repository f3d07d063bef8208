//! Objects that programs hold pointers to.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize};

use super::{ConditionRoom, IbvContext, MutexRoom};

/// A structure as C lays it out, with all fields public.
macro_rules! layout {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug)]
        #[allow(missing_docs, reason = "fields are those of the C structure of the same name")]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }
    };
}
pub(crate) use layout;

layout! {
    /// `struct ibv_device`.
    pub struct IbvDevice {
        ops: [*const c_void; 2],
        node_type: c_int,
        transport_type: c_int,
        name: [c_char; 64],
        dev_name: [c_char; 64],
        dev_path: [c_char; 256],
        ibdev_path: [c_char; 256],
    }
}

layout! {
    /// `struct ibv_pd`.
    pub struct IbvPd {
        context: *const IbvContext,
        handle: u32,
    }
}

layout! {
    /// `struct ibv_td`.
    pub struct IbvTd {
        context: *const IbvContext,
    }
}

layout! {
    /// `struct ibv_mr`.
    pub struct IbvMr {
        context: *const IbvContext,
        pd: AtomicPtr<IbvPd>,
        addr: AtomicPtr<c_void>,
        length: AtomicUsize,
        handle: u32,
        lkey: AtomicU32,
        rkey: AtomicU32,
    }
}

layout! {
    /// `struct ibv_mw`.
    pub struct IbvMw {
        context: *const IbvContext,
        pd: *const IbvPd,
        rkey: AtomicU32,
        handle: u32,
        kind: c_int,
    }
}

layout! {
    /// `struct ibv_ah`.
    pub struct IbvAh {
        context: *const IbvContext,
        pd: *const IbvPd,
        handle: u32,
    }
}

layout! {
    /// `struct ibv_comp_channel`.
    pub struct IbvCompChannel {
        context: *const IbvContext,
        fd: c_int,
        refcnt: c_int,
    }
}

layout! {
    /// `struct ibv_srq`.
    pub struct IbvSrq {
        context: *const IbvContext,
        srq_context: *mut c_void,
        pd: *const IbvPd,
        handle: u32,
        mutex: MutexRoom,
        cond: ConditionRoom,
        events_completed: AtomicU32,
    }
}

layout! {
    /// `struct ibv_cq`, which `struct ibv_cq_ex` begins with.
    pub struct IbvCq {
        context: *const IbvContext,
        channel: *const IbvCompChannel,
        cq_context: *mut c_void,
        handle: u32,
        cqe: AtomicI32,
        mutex: MutexRoom,
        cond: ConditionRoom,
        comp_events_completed: AtomicU32,
        async_events_completed: AtomicU32,
    }
}

layout! {
    /// `struct ibv_cq_ex`.
    pub struct IbvCqEx {
        base: IbvCq,
        comp_mask: u32,
        status: AtomicI32,
        wr_id: std::sync::atomic::AtomicU64,
        start_poll: Option<unsafe extern "C" fn(*const Self, *const u32) -> c_int>,
        next_poll: Option<unsafe extern "C" fn(*const Self) -> c_int>,
        end_poll: Option<unsafe extern "C" fn(*const Self)>,
        read_opcode: Option<unsafe extern "C" fn(*const Self) -> c_int>,
        read_vendor_err: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_byte_len: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_imm_data: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_qp_num: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_src_qp: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_wc_flags: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_slid: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_sl: Option<unsafe extern "C" fn(*const Self) -> u8>,
        read_dlid_path_bits: Option<unsafe extern "C" fn(*const Self) -> u8>,
        read_completion_ts: Option<unsafe extern "C" fn(*const Self) -> u64>,
        read_cvlan: Option<unsafe extern "C" fn(*const Self) -> u16>,
        read_flow_tag: Option<unsafe extern "C" fn(*const Self) -> u32>,
        read_tm_info: Option<unsafe extern "C" fn(*const Self, *mut c_void)>,
        read_completion_wallclock_ns: Option<unsafe extern "C" fn(*const Self) -> u64>,
    }
}
