//! Functions of libibverbs, and those behind pointers of a context.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;

use fairlane_verbs_abi::{
    AhAttr, DeviceAttr, Gid, IbvAh, IbvCompChannel, IbvContext, IbvCq, IbvDevice, IbvMr, IbvPd,
    IbvQp, IbvSrq, PortAttr, QpAttr, QpInitAttr, QpInitAttrEx, RecvWr, SendWr, SrqInitAttr,
    SrqInitAttrEx, VerbsContext, Wc,
};

use crate::guard::Errno;
use crate::object::Ptr;

unsafe extern "C" {
    pub(crate) fn ibv_get_device_list(count: *mut c_int) -> *mut *const IbvDevice;
    pub(crate) fn ibv_free_device_list(list: *mut *const IbvDevice);
    fn ibv_open_device(device: *const IbvDevice) -> *mut IbvContext;
    fn ibv_close_device(context: *mut IbvContext) -> c_int;
    fn ibv_get_device_guid(device: *const IbvDevice) -> u64;
    fn ibv_query_device(context: *mut IbvContext, attributes: *mut DeviceAttr) -> c_int;
    fn ibv_query_port(context: *mut IbvContext, port: u8, attributes: *mut PortAttr) -> c_int;
    fn ibv_query_gid(context: *mut IbvContext, port: u8, index: c_int, gid: *mut Gid) -> c_int;
    fn ibv_alloc_pd(context: *mut IbvContext) -> *mut IbvPd;
    fn ibv_reg_mr(pd: *mut IbvPd, at: *mut c_void, length: usize, access: c_int) -> *mut IbvMr;
    fn ibv_dereg_mr(region: *mut IbvMr) -> c_int;
    fn ibv_create_comp_channel(context: *mut IbvContext) -> *mut IbvCompChannel;
    fn ibv_destroy_comp_channel(channel: *mut IbvCompChannel) -> c_int;
    fn ibv_create_cq(
        context: *mut IbvContext,
        entries: c_int,
        tag: *mut c_void,
        channel: *mut IbvCompChannel,
        vector: c_int,
    ) -> *mut IbvCq;
    fn ibv_destroy_cq(queue: *mut IbvCq) -> c_int;
    fn ibv_get_cq_event(
        channel: *mut IbvCompChannel,
        queue: *mut *mut IbvCq,
        tag: *mut *mut c_void,
    ) -> c_int;
    fn ibv_ack_cq_events(queue: *mut IbvCq, count: u32);
    fn ibv_create_qp(pd: *mut IbvPd, attributes: *mut QpInitAttr) -> *mut IbvQp;
    /// A function of Fairlane's libibverbs alone (`FAIRLANE_1.0`): queue pair 1 of a device, for management datagrams.
    fn fairlane_create_management_qp(pd: *mut IbvPd, attributes: *mut QpInitAttr) -> *mut IbvQp;
    fn ibv_destroy_qp(pair: *mut IbvQp) -> c_int;
    fn ibv_modify_qp(pair: *mut IbvQp, attributes: *const QpAttr, mask: c_int) -> c_int;
    fn ibv_create_srq(pd: *mut IbvPd, attributes: *mut SrqInitAttr) -> *mut IbvSrq;
    fn ibv_destroy_srq(queue: *mut IbvSrq) -> c_int;
    fn ibv_create_ah(pd: *mut IbvPd, attributes: *const AhAttr) -> *mut IbvAh;
    fn ibv_destroy_ah(handle: *mut IbvAh) -> c_int;
}

/// A function of libibverbs that returns an error number.
macro_rules! number {
    ($call:expr) => {{
        // SAFETY: objects are those that libibverbs has made and that still are there, and structures are whole.
        match unsafe { $call } {
            0 => Ok(()),
            code => Err(Errno(code.abs())),
        }
    }};
}

/// A function of libibverbs that returns an object.
macro_rules! object {
    ($call:expr) => {{
        // SAFETY: as above.
        let object = unsafe { $call };
        (!object.is_null())
            .then_some(Ptr(object))
            .ok_or_else(Errno::last)
    }};
}

impl Ptr<IbvContext> {
    pub(crate) fn open(device: *const IbvDevice) -> Result<Self, Errno> {
        object!(ibv_open_device(device))
    }

    pub(crate) fn close(self) {
        let _ = number!(ibv_close_device(self.0));
    }

    /// In network order.
    pub(crate) fn guid(device: *const IbvDevice) -> u64 {
        // SAFETY: it is a device of the list.
        u64::from_be(unsafe { ibv_get_device_guid(device) })
    }

    pub(crate) fn port(self) -> Result<PortAttr, Errno> {
        let mut attributes = PortAttr::default();
        number!(ibv_query_port(self.0, 1, &raw mut attributes))?;
        Ok(attributes)
    }

    pub(crate) fn gid(self, index: c_int) -> Result<Gid, Errno> {
        let mut gid = Gid::default();
        number!(ibv_query_gid(self.0, 1, index, &raw mut gid))?;
        Ok(gid)
    }

    /// How many READs and atomics a queue pair may have under way, at either end.
    pub(crate) fn depth(self) -> u8 {
        let mut attributes = std::mem::MaybeUninit::<DeviceAttr>::zeroed();
        let asked = number!(ibv_query_device(self.0, attributes.as_mut_ptr()));
        // SAFETY: all its fields are numbers, and zero is one.
        let most = unsafe { attributes.assume_init() }.max_qp_rd_atom;
        asked.map_or(1, |()| most.clamp(0, 255) as u8)
    }

    pub(crate) fn domain(self) -> Result<Ptr<IbvPd>, Errno> {
        object!(ibv_alloc_pd(self.0))
    }

    fn channel(self) -> Result<Ptr<IbvCompChannel>, Errno> {
        object!(ibv_create_comp_channel(self.0))
    }

    /// A completion queue, with a channel of its own.
    pub(crate) fn completions(
        self,
        entries: u32,
        tag: *mut c_void,
    ) -> Result<(Ptr<IbvCompChannel>, Ptr<IbvCq>), Errno> {
        let entries = c_int::try_from(entries.max(1)).map_err(|_| Errno::INVALID)?;
        let channel = self.channel()?;
        let queue = object!(ibv_create_cq(self.0, entries, tag, channel.0, 0));
        let queue = queue.inspect_err(|_| channel.destroy())?;
        Ok((channel, queue))
    }

    /// The structure around it.
    fn around(self) -> *const VerbsContext {
        self.0
            .wrapping_byte_sub(offset_of!(VerbsContext, context))
            .cast()
    }

    pub(crate) fn create_pair_ex(self, attributes: *mut QpInitAttrEx) -> Result<Ptr<IbvQp>, Errno> {
        // SAFETY: contexts of libibverbs are within such a structure.
        let make = unsafe { (*self.around()).create_qp_ex }.ok_or(Errno::NOT_SUPPORTED)?;
        object!(make(self.0, attributes).cast_mut())
    }

    pub(crate) fn create_shared_ex(
        self,
        attributes: *mut SrqInitAttrEx,
    ) -> Result<Ptr<IbvSrq>, Errno> {
        // SAFETY: as above.
        let make = unsafe { (*self.around()).create_srq_ex }.ok_or(Errno::NOT_SUPPORTED)?;
        object!(make(self.0, attributes).cast_mut())
    }
}

impl Ptr<IbvPd> {
    pub(crate) fn register(self, bytes: &mut [u8]) -> Result<Ptr<IbvMr>, Errno> {
        const LOCAL_WRITE: c_int = 1;
        let (at, length) = (bytes.as_mut_ptr().cast(), bytes.len());
        object!(ibv_reg_mr(self.0, at, length, LOCAL_WRITE))
    }

    pub(crate) fn create_pair(self, attributes: *mut QpInitAttr) -> Result<Ptr<IbvQp>, Errno> {
        object!(ibv_create_qp(self.0, attributes))
    }

    pub(crate) fn create_management_pair(
        self,
        attributes: *mut QpInitAttr,
    ) -> Result<Ptr<IbvQp>, Errno> {
        object!(fairlane_create_management_qp(self.0, attributes))
    }

    pub(crate) fn create_shared(self, attributes: *mut SrqInitAttr) -> Result<Ptr<IbvSrq>, Errno> {
        object!(ibv_create_srq(self.0, attributes))
    }

    pub(crate) fn create_handle(self, attributes: &AhAttr) -> Result<Ptr<IbvAh>, Errno> {
        object!(ibv_create_ah(self.0, attributes))
    }
}

impl Ptr<IbvMr> {
    pub(crate) fn deregister(self) {
        let _ = number!(ibv_dereg_mr(self.0));
    }

    pub(crate) fn local_key(self) -> u32 {
        // SAFETY: libibverbs has made it.
        unsafe { (*self.0).lkey.load(std::sync::atomic::Ordering::Relaxed) }
    }
}

impl Ptr<IbvAh> {
    pub(crate) fn destroy(self) {
        let _ = number!(ibv_destroy_ah(self.0));
    }
}

impl Ptr<IbvSrq> {
    pub(crate) fn destroy(self) -> Result<(), Errno> {
        number!(ibv_destroy_srq(self.0))
    }
}

impl Ptr<IbvCompChannel> {
    pub(crate) fn fd(self) -> c_int {
        // SAFETY: libibverbs has made it.
        unsafe { (*self.0).fd }
    }

    /// Takes an event, which there must be one of, or the descriptor doesn't block.
    pub(crate) fn take_event(self) {
        let (mut queue, mut tag) = (std::ptr::null_mut(), std::ptr::null_mut());
        let taken = number!(ibv_get_cq_event(self.0, &raw mut queue, &raw mut tag));
        if taken.is_ok() {
            // SAFETY: the queue has just been said.
            unsafe { ibv_ack_cq_events(queue, 1) };
        }
    }

    pub(crate) fn destroy(self) {
        let _ = number!(ibv_destroy_comp_channel(self.0));
    }
}

impl Ptr<IbvCq> {
    fn context(self) -> *const IbvContext {
        // SAFETY: libibverbs has made it.
        unsafe { (*self.0).context }
    }

    /// Wants an event for the next completion.
    pub(crate) fn arm(self) -> Result<(), Errno> {
        // SAFETY: contexts have their operations filled in.
        let arm = unsafe { (*self.context()).ops.req_notify_cq }.ok_or(Errno::NOT_SUPPORTED)?;
        number!(arm(self.0, 0))
    }

    /// Completions that are there, at most as many as there is room for.
    pub(crate) fn poll(self, into: &mut [Wc]) -> usize {
        // SAFETY: as above; there is room for so many.
        let polled = unsafe {
            let poll = (*self.context()).ops.poll_cq;
            poll.map_or(0, |poll| {
                poll(self.0, into.len() as c_int, into.as_mut_ptr()).0
            })
        };
        usize::try_from(polled).unwrap_or(0)
    }

    pub(crate) fn destroy(self) {
        let _ = number!(ibv_destroy_cq(self.0));
    }
}

impl Ptr<IbvQp> {
    fn context(self) -> *const IbvContext {
        // SAFETY: libibverbs has made it.
        unsafe { (*self.0).context }
    }

    pub(crate) fn number(self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.0).qp_num }
    }

    /// Its kind, and whether it shares receives.
    pub(crate) fn kind(self) -> (c_int, bool) {
        // SAFETY: as above.
        let pair = unsafe { &*self.0 };
        (pair.qp_type, !pair.srq.is_null())
    }

    pub(crate) fn modify(self, attributes: &QpAttr, mask: u32) -> Result<(), Errno> {
        number!(ibv_modify_qp(self.0, attributes, mask as c_int))
    }

    pub(crate) fn post_send(self, request: &mut SendWr) -> Result<(), Errno> {
        let mut bad = std::ptr::null_mut();
        // SAFETY: contexts have their operations filled in.
        let post = unsafe { (*self.context()).ops.post_send }.ok_or(Errno::NOT_SUPPORTED)?;
        number!(post(self.0, request, &raw mut bad))
    }

    pub(crate) fn post_receive(self, request: &mut RecvWr) -> Result<(), Errno> {
        let mut bad = std::ptr::null_mut();
        // SAFETY: as above.
        let post = unsafe { (*self.context()).ops.post_recv }.ok_or(Errno::NOT_SUPPORTED)?;
        number!(post(self.0, request, &raw mut bad))
    }

    pub(crate) fn destroy(self) -> Result<(), Errno> {
        number!(ibv_destroy_qp(self.0))
    }
}
