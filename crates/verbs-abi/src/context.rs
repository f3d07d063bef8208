//! Contexts, which grow upwards: fields are at fixed distances from the end.

use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of};

use super::objects::layout;
use super::{
    CqInitAttrEx, DeviceAttrEx, IbvCq, IbvCqEx, IbvDevice, IbvMr, IbvMw, IbvPd, IbvQp, IbvSrq,
    IbvTd, MutexRoom, MwBind, OrMinus, ParentDomainInitAttr, PortAttr, QpInitAttrEx, RecvWr,
    SendWr, SrqInitAttrEx, TdInitAttr, ValuesEx, Wc,
};

/// A function that nobody calls.
pub type Unused = *const c_void;

layout! {
    /// `struct ibv_context_ops`, whose other slots nobody calls any more.
    pub struct ContextOps {
        unused_1: [Unused; 7],
        alloc_mw: Option<unsafe extern "C" fn(*const IbvPd, c_int) -> *const IbvMw>,
        bind_mw: Option<unsafe extern "C" fn(*const IbvQp, *const IbvMw, *const MwBind) -> c_int>,
        dealloc_mw: Option<unsafe extern "C" fn(*const IbvMw) -> c_int>,
        unused_2: [Unused; 1],
        poll_cq: Option<unsafe extern "C" fn(*const IbvCq, c_int, *mut Wc) -> OrMinus<c_int>>,
        req_notify_cq: Option<unsafe extern "C" fn(*const IbvCq, c_int) -> c_int>,
        unused_3: [Unused; 7],
        post_srq_recv: Option<unsafe extern "C" fn(*const IbvSrq, *mut RecvWr, *mut *mut RecvWr) -> c_int>,
        unused_4: [Unused; 4],
        post_send: Option<unsafe extern "C" fn(*const IbvQp, *mut SendWr, *mut *mut SendWr) -> c_int>,
        post_recv: Option<unsafe extern "C" fn(*const IbvQp, *mut RecvWr, *mut *mut RecvWr) -> c_int>,
        unused_5: [Unused; 5],
    }
}

layout! {
    /// `struct ibv_context`.
    pub struct IbvContext {
        device: *const IbvDevice,
        ops: ContextOps,
        cmd_fd: c_int,
        async_fd: c_int,
        num_comp_vectors: c_int,
        mutex: MutexRoom,
        abi_compat: *const c_void,
    }
}

layout! {
    /// `struct verbs_context`. Programs compiled with later headers read `sz` before they look for what was added on top.
    pub struct VerbsContext {
        query_port: Option<unsafe extern "C" fn(*const IbvContext, u8, *mut PortAttr, usize) -> c_int>,
        advise_mr: Unused,
        alloc_null_mr: Option<unsafe extern "C" fn(*const IbvPd) -> *const IbvMr>,
        unused_1: [Unused; 11],
        alloc_parent_domain: Option<unsafe extern "C" fn(*const IbvContext, *mut ParentDomainInitAttr) -> *const IbvPd>,
        dealloc_td: Option<unsafe extern "C" fn(*const IbvTd) -> c_int>,
        alloc_td: Option<unsafe extern "C" fn(*const IbvContext, *const TdInitAttr) -> *const IbvTd>,
        modify_cq: Option<unsafe extern "C" fn(*const IbvCq, *const c_void) -> c_int>,
        unused_2: [Unused; 6],
        query_rt_values: Option<unsafe extern "C" fn(*const IbvContext, *mut ValuesEx) -> c_int>,
        create_cq_ex: Option<unsafe extern "C" fn(*const IbvContext, *mut CqInitAttrEx) -> *const IbvCqEx>,
        private: *const c_void,
        query_device_ex: Option<unsafe extern "C" fn(*const IbvContext, *const u32, *mut DeviceAttrEx, usize) -> c_int>,
        unused_3: [Unused; 4],
        open_qp: Unused,
        create_qp_ex: Option<unsafe extern "C" fn(*const IbvContext, *mut QpInitAttrEx) -> *const IbvQp>,
        get_srq_num: Option<unsafe extern "C" fn(*const IbvSrq, *mut u32) -> c_int>,
        create_srq_ex: Option<unsafe extern "C" fn(*const IbvContext, *mut SrqInitAttrEx) -> *const IbvSrq>,
        open_xrcd: Unused,
        close_xrcd: Unused,
        placeholder: u64,
        sz: usize,
        context: IbvContext,
    }
}

const _: () = {
    assert!(size_of::<VerbsContext>() == 648 && size_of::<IbvContext>() == 328);
    assert!(offset_of!(VerbsContext, context) == 320 && offset_of!(VerbsContext, sz) == 312);
    assert!(offset_of!(IbvContext, cmd_fd) == 264);
};
