//! Contexts: devices that are open.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use crate::abi::{ContextOps, IbvContext, MutexRoom, VerbsContext};
use crate::args::Handle;
use crate::device::Device;
use crate::events::Inbox;
use crate::guard::{Errno, entry};
use crate::nic::Nic;
use crate::object::{Object, With, give, take};
use crate::{complete, domain, memory, pair, post, query, queue, queue_ex, shared_queue, window};

/// A device that is open.
pub(crate) type Context = With<VerbsContext, ContextInner>;

#[derive(Debug)]
pub(crate) struct ContextInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) device: &'static Device,
    pub(crate) inbox: Arc<Inbox>,
    /// A descriptor for programs that duplicate it; nothing can be done with it.
    _command: OwnedFd,
}

/// Completion vectors: one, as one thread does everything.
pub(crate) const VECTORS: c_int = 1;

/// Opens a device.
pub(crate) fn open(device: &'static Device) -> Result<*const IbvContext, Errno> {
    let nic = Nic::open(&device.own.name, &device.own.choice)?;
    let null = std::fs::File::open("/dev/null");
    let command: OwnedFd = null
        .map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?
        .into();
    let inbox = nic.inbox()?;
    let public = verbs_context(device, command.as_raw_fd(), inbox.descriptor());
    let own = ContextInner {
        nic,
        device,
        inbox,
        _command: command,
    };
    Ok(give(Box::new(With { public, own })))
}

fn verbs_context(device: &Device, command: c_int, events: c_int) -> VerbsContext {
    const NONE: *const c_void = std::ptr::null();
    VerbsContext {
        query_port: Some(query::query_port),
        advise_mr: NONE,
        alloc_null_mr: Some(memory::alloc_null_mr),
        unused_1: [NONE; 11],
        alloc_parent_domain: Some(domain::alloc_parent_domain),
        dealloc_td: Some(domain::dealloc_td),
        alloc_td: Some(domain::alloc_td),
        modify_cq: None,
        unused_2: [NONE; 6],
        query_rt_values: None,
        create_cq_ex: Some(queue_ex::create_cq_ex),
        private: NONE,
        query_device_ex: Some(query::query_device_ex),
        unused_3: [NONE; 4],
        open_qp: NONE,
        create_qp_ex: Some(pair::create_qp_ex),
        get_srq_num: None,
        create_srq_ex: Some(shared_queue::create_srq_ex),
        open_xrcd: NONE,
        close_xrcd: NONE,
        placeholder: 0,
        sz: size_of::<VerbsContext>(),
        context: IbvContext {
            device: device.public(),
            ops: ops(),
            cmd_fd: command,
            async_fd: events,
            num_comp_vectors: VECTORS,
            mutex: MutexRoom::default(),
            // Programs take this as the sign that there is a `verbs_context` around it.
            abi_compat: NONE.wrapping_byte_sub(1),
        },
    }
}

fn ops() -> ContextOps {
    const NONE: *const c_void = std::ptr::null();
    ContextOps {
        unused_1: [NONE; 7],
        alloc_mw: Some(window::alloc_mw),
        bind_mw: Some(window::bind_mw),
        dealloc_mw: Some(window::dealloc_mw),
        unused_2: [NONE; 1],
        poll_cq: Some(complete::poll_cq),
        req_notify_cq: Some(queue::req_notify_cq),
        unused_3: [NONE; 7],
        post_srq_recv: Some(post::post_srq_recv),
        unused_4: [NONE; 4],
        post_send: Some(post::post_send),
        post_recv: Some(post::post_recv),
        unused_5: [NONE; 5],
    }
}

entry! {
    fn ibv_close_device(context: Handle<Context>) -> c_int {
        drop(take(context)?);
        Ok(0)
    }
}
