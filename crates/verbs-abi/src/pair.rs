//! Queue pairs.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32};

use super::objects::layout;
use super::{
    AhAttr, ConditionRoom, IbvAh, IbvContext, IbvCq, IbvMw, IbvPd, IbvSrq, MutexRoom, MwBindInfo,
    Sge,
};

layout! {
    /// `struct ibv_qp`, which `struct ibv_qp_ex` begins with.
    pub struct IbvQp {
        context: *const IbvContext,
        qp_context: *mut c_void,
        pd: *const IbvPd,
        send_cq: *const IbvCq,
        recv_cq: *const IbvCq,
        srq: *const IbvSrq,
        handle: u32,
        qp_num: u32,
        state: AtomicI32,
        qp_type: c_int,
        mutex: MutexRoom,
        cond: ConditionRoom,
        events_completed: AtomicU32,
    }
}

/// `struct ibv_data_buf`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DataBuf {
    /// Where.
    pub addr: *const u8,
    /// Bytes.
    pub length: usize,
}

/// A function of an extended queue pair that begins or describes a request.
type Of<A> = Option<A>;

layout! {
    /// `struct ibv_qp_ex`. Programs write the number and the flags of the next request into it.
    pub struct IbvQpEx {
        base: IbvQp,
        comp_mask: u64,
        wr_id: std::sync::atomic::AtomicU64,
        wr_flags: AtomicU32,
        wr_atomic_cmp_swp: Of<unsafe extern "C" fn(*const Self, u32, u64, u64, u64)>,
        wr_atomic_fetch_add: Of<unsafe extern "C" fn(*const Self, u32, u64, u64)>,
        wr_bind_mw: Of<unsafe extern "C" fn(*const Self, *const IbvMw, u32, *const MwBindInfo)>,
        wr_local_inv: Of<unsafe extern "C" fn(*const Self, u32)>,
        wr_rdma_read: Of<unsafe extern "C" fn(*const Self, u32, u64)>,
        wr_rdma_write: Of<unsafe extern "C" fn(*const Self, u32, u64)>,
        wr_rdma_write_imm: Of<unsafe extern "C" fn(*const Self, u32, u64, u32)>,
        wr_send: Of<unsafe extern "C" fn(*const Self)>,
        wr_send_imm: Of<unsafe extern "C" fn(*const Self, u32)>,
        wr_send_inv: Of<unsafe extern "C" fn(*const Self, u32)>,
        wr_send_tso: Of<unsafe extern "C" fn(*const Self, *const c_void, u16, u16)>,
        wr_set_ud_addr: Of<unsafe extern "C" fn(*const Self, *const IbvAh, u32, u32)>,
        wr_set_xrc_srqn: Of<unsafe extern "C" fn(*const Self, u32)>,
        wr_set_inline_data: Of<unsafe extern "C" fn(*const Self, *const u8, usize)>,
        wr_set_inline_data_list: Of<unsafe extern "C" fn(*const Self, usize, *const DataBuf)>,
        wr_set_sge: Of<unsafe extern "C" fn(*const Self, u32, u64, u32)>,
        wr_set_sge_list: Of<unsafe extern "C" fn(*const Self, usize, *const Sge)>,
        wr_start: Of<unsafe extern "C" fn(*const Self)>,
        wr_complete: Of<unsafe extern "C" fn(*const Self) -> c_int>,
        wr_abort: Of<unsafe extern "C" fn(*const Self)>,
        wr_atomic_write: Of<unsafe extern "C" fn(*const Self, u32, u64, *const c_void)>,
        // What later versions have added.
        wr_flush: *const c_void,
        room: [*const c_void; 7],
    }
}

/// `struct ibv_qp_cap`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct QpCap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
}

layout! {
    /// `struct ibv_qp_init_attr`.
    pub struct QpInitAttr {
        qp_context: *mut c_void,
        send_cq: *const IbvCq,
        recv_cq: *const IbvCq,
        srq: *const IbvSrq,
        cap: QpCap,
        qp_type: c_int,
        sq_sig_all: c_int,
    }
}

layout! {
    /// `struct ibv_qp_init_attr_ex`, which has further fields where `struct ibv_qp_init_attr` ends with padding.
    pub struct QpInitAttrEx {
        qp_context: *mut c_void,
        send_cq: *const IbvCq,
        recv_cq: *const IbvCq,
        srq: *const IbvSrq,
        cap: QpCap,
        qp_type: c_int,
        sq_sig_all: c_int,
        comp_mask: u32,
        pd: *const IbvPd,
        xrcd: *const c_void,
        create_flags: u32,
        max_tso_header: u16,
        rwq_ind_tbl: *const c_void,
        rx_hash_function: u8,
        rx_hash_key_len: u8,
        rx_hash_key: *const u8,
        rx_hash_fields_mask: u64,
        source_qpn: u32,
        send_ops_flags: u64,
    }
}

/// `struct ibv_qp_attr`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "fields are those of the C structure")]
pub struct QpAttr {
    pub qp_state: c_int,
    pub cur_qp_state: c_int,
    pub path_mtu: c_int,
    pub path_mig_state: c_int,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: c_uint,
    pub cap: QpCap,
    pub ah_attr: AhAttr,
    pub alt_ah_attr: AhAttr,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub rate_limit: u32,
}
