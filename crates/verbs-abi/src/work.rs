//! Requests and completions.

use std::ffi::{c_int, c_uint, c_void};

use super::objects::layout;
use super::{IbvAh, IbvMr, IbvMw};

/// `struct ibv_sge`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct Sge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// `struct ibv_mw_bind_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct MwBindInfo {
    pub mr: *const IbvMr,
    pub addr: u64,
    pub length: u64,
    pub mw_access_flags: c_uint,
}

layout! {
    /// `struct ibv_mw_bind`.
    pub struct MwBind {
        wr_id: u64,
        send_flags: c_uint,
        bind_info: MwBindInfo,
    }
}

/// A request to a place at the other end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct RemoteWr {
    pub remote_addr: u64,
    pub rkey: u32,
}

/// An atomic.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct AtomicWr {
    pub remote_addr: u64,
    pub compare_add: u64,
    pub swap: u64,
    pub rkey: u32,
}

/// A datagram.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct UdWr {
    pub ah: *const IbvAh,
    pub remote_qpn: u32,
    pub remote_qkey: u32,
}

/// What else a request says, by its operation.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "fields are those of the C union")]
pub union WrUnion {
    pub rdma: RemoteWr,
    pub atomic: AtomicWr,
    pub ud: UdWr,
}

impl std::fmt::Debug for WrUnion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WrUnion")
    }
}

/// The window of a request to bind one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct BindWr {
    pub mw: *const IbvMw,
    pub rkey: u32,
    pub bind_info: MwBindInfo,
}

layout! {
    /// `struct ibv_send_wr`.
    pub struct SendWr {
        wr_id: u64,
        next: *mut Self,
        sg_list: *const Sge,
        num_sge: c_int,
        opcode: c_int,
        send_flags: c_uint,
        imm_data: u32,
        wr: WrUnion,
        xrc_remote_srqn: u32,
        bind_mw: BindWr,
    }
}

layout! {
    /// `struct ibv_recv_wr`.
    pub struct RecvWr {
        wr_id: u64,
        next: *mut Self,
        sg_list: *const Sge,
        num_sge: c_int,
    }
}

/// `struct ibv_wc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct Wc {
    pub wr_id: u64,
    pub status: c_int,
    pub opcode: c_int,
    pub vendor_err: u32,
    pub byte_len: u32,
    pub imm_data: u32,
    pub qp_num: u32,
    pub src_qp: u32,
    pub wc_flags: c_uint,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
}

layout! {
    /// `struct ibv_async_event`.
    pub struct AsyncEvent {
        element: *const c_void,
        event_type: c_int,
    }
}
