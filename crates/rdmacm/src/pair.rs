//! Queue pairs of ids: made, moved from state to state, destroyed.

use std::ffi::{c_int, c_void};

use fairlane_cm::{Rep, Req, address_of};
use fairlane_verbs_abi::{
    IbvCompChannel, IbvCq, IbvPd, IbvQp, IbvSrq, QpAttr, QpInitAttr, QpInitAttrEx, SrqInitAttr,
    SrqInitAttrEx,
};

use crate::gsi::way_to;
use crate::guard::{Errno, entry};
use crate::id::Id;
use crate::layout::{CmId, DATAGRAM_KEY};
use crate::object::{Ptr, tell};
use crate::port::Port;
use crate::world::{self, World};

/// `enum ibv_qp_type`.
pub(crate) const RELIABLE: c_int = 2;
pub(crate) const UNRELIABLE: c_int = 3;
pub(crate) const DATAGRAM: c_int = 4;

/// `enum ibv_qp_state`.
pub(crate) mod state {
    use std::ffi::c_int;

    pub(crate) const INIT: c_int = 1;
    pub(crate) const RTR: c_int = 2;
    pub(crate) const RTS: c_int = 3;
    pub(crate) const ERR: c_int = 6;
}

/// `enum ibv_qp_attr_mask`.
pub(crate) mod bit {
    pub(crate) const STATE: u32 = 1;
    pub(crate) const ACCESS_FLAGS: u32 = 1 << 3;
    pub(crate) const PKEY_INDEX: u32 = 1 << 4;
    pub(crate) const PORT: u32 = 1 << 5;
    pub(crate) const QKEY: u32 = 1 << 6;
    pub(crate) const AV: u32 = 1 << 7;
    pub(crate) const PATH_MTU: u32 = 1 << 8;
    pub(crate) const TIMEOUT: u32 = 1 << 9;
    pub(crate) const RETRY_CNT: u32 = 1 << 10;
    pub(crate) const RNR_RETRY: u32 = 1 << 11;
    pub(crate) const RQ_PSN: u32 = 1 << 12;
    pub(crate) const MAX_QP_RD_ATOMIC: u32 = 1 << 13;
    pub(crate) const MIN_RNR_TIMER: u32 = 1 << 15;
    pub(crate) const SQ_PSN: u32 = 1 << 16;
    pub(crate) const MAX_DEST_RD_ATOMIC: u32 = 1 << 17;
    pub(crate) const DEST_QPN: u32 = 1 << 20;
}

/// Remote WRITEs, READs and atomics.
const ACCESS: u32 = 2 | 4 | 8;
/// 0.64 ms after an RNR NAK (IBTA 9.7.5.2.8, table 45).
const RNR_TIMER: u8 = 12;

/// What a queue pair of a connection to come is made with.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) domain: *mut IbvPd,
    pub(crate) attributes: QpInitAttr,
}

impl Ptr<Recipe> {
    /// A copy of what C says.
    pub(crate) fn copy(domain: *mut IbvPd, from: *const QpInitAttr) -> Self {
        // SAFETY: programs pass whole attributes, which are numbers and pointers.
        let attributes = unsafe { from.read() };
        Self::give(Recipe { domain, attributes })
    }

    pub(crate) fn take(self) {
        // SAFETY: `copy` has made it, and its id is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }

    /// A copy, as what a queue pair is made with is filled in.
    pub(crate) const fn parts(self) -> (*mut IbvPd, QpInitAttr) {
        // SAFETY: it exists as long as its id, and is numbers and pointers.
        unsafe { ((*self.0).domain, (&raw const (*self.0).attributes).read()) }
    }
}

/// Attributes and mask of a step.
type Step = (QpAttr, u32);

/// Ready to be connected.
pub(crate) fn init(id: &Id) -> Step {
    let attributes = QpAttr {
        qp_state: state::INIT,
        port_num: 1,
        qkey: DATAGRAM_KEY,
        qp_access_flags: ACCESS,
        ..QpAttr::default()
    };
    let own = if id.is_datagram() {
        bit::QKEY
    } else {
        bit::ACCESS_FLAGS
    };
    (attributes, bit::STATE | bit::PKEY_INDEX | bit::PORT | own)
}

/// What both sides have said, from the point of view of one of them.
struct Agreed<'a> {
    req: &'a Req,
    rep: &'a Rep,
    is_active: bool,
}

fn agreed(id: &Id) -> Option<Agreed<'_>> {
    Some(Agreed {
        req: id.req.as_deref()?,
        rep: id.rep.as_deref()?,
        is_active: !id.is_accepted,
    })
}

/// Ready to receive what the peer sends.
pub(crate) fn ready_to_receive(id: &Id, port: &Port) -> Option<Step> {
    let Agreed {
        req,
        rep,
        is_active,
    } = agreed(id)?;
    let (peer, first, depth, gid) = match is_active {
        true => (
            rep.queue_pair,
            req.starting_psn,
            req.responder_resources,
            req.path.remote_gid,
        ),
        false => (
            req.queue_pair,
            rep.starting_psn,
            rep.responder_resources,
            req.path.local_gid,
        ),
    };
    let mut ah_attr = way_to(address_of(gid), port.gid_index);
    ah_attr.grh.traffic_class = req.path.traffic_class;
    let attributes = QpAttr {
        qp_state: state::RTR,
        path_mtu: req.mtu.into(),
        dest_qp_num: peer.get(),
        rq_psn: first.get(),
        max_dest_rd_atomic: depth,
        min_rnr_timer: RNR_TIMER,
        ah_attr,
        ..QpAttr::default()
    };
    let mask = bit::STATE | bit::AV | bit::PATH_MTU | bit::DEST_QPN | bit::RQ_PSN;
    let reads = bit::MAX_DEST_RD_ATOMIC | bit::MIN_RNR_TIMER;
    Some((attributes, mask | of_reliable(id, reads)))
}

/// Ready to send.
pub(crate) fn ready_to_send(id: &Id) -> Option<Step> {
    let Agreed {
        req,
        rep,
        is_active,
    } = agreed(id)?;
    let (first, depth, rnr_retry) = match is_active {
        true => (
            rep.starting_psn,
            req.initiator_depth.min(rep.responder_resources),
            rep.rnr_retries,
        ),
        false => (req.starting_psn, rep.initiator_depth, req.rnr_retries),
    };
    let attributes = QpAttr {
        qp_state: state::RTS,
        sq_psn: first.get(),
        timeout: id
            .ack_timeout
            .unwrap_or_else(|| req.path.ack_timeout.bits()),
        retry_cnt: req.retries,
        rnr_retry,
        max_rd_atomic: depth,
        ..QpAttr::default()
    };
    let times = bit::TIMEOUT | bit::RETRY_CNT | bit::RNR_RETRY | bit::MAX_QP_RD_ATOMIC;
    Some((
        attributes,
        bit::STATE | bit::SQ_PSN | of_reliable(id, times),
    ))
}

fn of_reliable(id: &Id, mask: u32) -> u32 {
    if id.pointer.seen().qp_type == RELIABLE {
        mask
    } else {
        0
    }
}

/// Moves an id's queue pair, if it has one, through all that a connection takes.
pub(crate) fn connect(id: &Id, port: &Port) -> Result<(), Errno> {
    let Some(pair) = pair_of(id) else {
        return Ok(());
    };
    let (attributes, mask) = ready_to_receive(id, port).ok_or(Errno::INVALID)?;
    pair.modify(&attributes, mask)?;
    let (attributes, mask) = ready_to_send(id).ok_or(Errno::INVALID)?;
    pair.modify(&attributes, mask)
}

/// The queue pair of an id.
pub(crate) fn pair_of(id: &Id) -> Option<Ptr<IbvQp>> {
    let pair = id.pointer.seen().qp.cast_mut();
    (!pair.is_null()).then_some(Ptr(pair))
}

/// An id's queue pair neither sends nor receives any more.
pub(crate) fn fail(id: &Id) {
    if let Some(pair) = pair_of(id) {
        let attributes = QpAttr {
            qp_state: state::ERR,
            ..QpAttr::default()
        };
        let _ = pair.modify(&attributes, bit::STATE);
    }
}

fn begin(id: &Id, pair: Ptr<IbvQp>) -> Result<(), Errno> {
    let (mut attributes, mask) = init(id);
    pair.modify(&attributes, mask)?;
    if id.is_datagram() {
        // Nobody tells it who to receive from.
        attributes.qp_state = state::RTR;
        pair.modify(&attributes, bit::STATE)?;
        attributes.qp_state = state::RTS;
        pair.modify(&attributes, bit::STATE | bit::SQ_PSN)?;
    }
    Ok(())
}

/// Completion queues that a program hasn't named, each with a channel.
struct Completions {
    send: (*const IbvCompChannel, *const IbvCq),
    receive: (*const IbvCompChannel, *const IbvCq),
}

fn completions(
    port: &Port,
    id: *mut CmId,
    (send, receive): (Option<u32>, Option<u32>),
) -> Result<Completions, Errno> {
    type One = (*const IbvCompChannel, *const IbvCq);
    let one = |entries: Option<u32>| -> Result<One, Errno> {
        let Some(entries) = entries else {
            return Ok((std::ptr::null(), std::ptr::null()));
        };
        let (channel, queue) = port.context.completions(entries, id.cast::<c_void>())?;
        Ok((channel.0.cast_const(), queue.0.cast_const()))
    };
    let (send, none) = (one(send)?, one(None)?);
    let mut made = Completions {
        send,
        receive: none,
    };
    made.receive = one(receive).inspect_err(|_| destroy_completions(&made))?;
    Ok(made)
}

/// Queues of a queue pair: completions of sends and receives, shared receives.
type Queues = (*const IbvCq, *const IbvCq, *const IbvSrq);

/// What both kinds of attributes have.
struct Common {
    queues: Queues,
    most: (u32, u32),
    kind: c_int,
}

/// Fills in what a program hasn't said, and makes a queue pair.
fn create(
    world: &mut World,
    id: *mut CmId,
    pd: *mut IbvPd,
    common: Common,
    make: impl FnOnce(&Port, *mut IbvPd, Queues) -> Result<Ptr<IbvQp>, Errno>,
) -> Result<(), Errno> {
    let own = world.id(id)?;
    let seen = own.pointer.seen();
    if !seen.qp.is_null() {
        return Err(Errno::INVALID);
    }
    let port = own.port.ok_or(Errno::INVALID)?;
    let port = world.ports.get(port).ok_or(Errno::NO_DEVICE)?;
    let pd = if pd.is_null() { seen.pd.cast_mut() } else { pd };
    let (send, receive, shared) = common.queues;
    let missing = |queue: *const IbvCq, entries| queue.is_null().then_some(entries);
    let entries = (
        missing(send, common.most.0),
        missing(receive, common.most.1),
    );
    let made = completions(port, id, entries)?;
    let or = |asked: *const IbvCq, made: *const IbvCq| if asked.is_null() { made } else { asked };
    let shared = if shared.is_null() { seen.srq } else { shared };
    let queues = (or(send, made.send.1), or(receive, made.receive.1), shared);
    let pair = make(port, pd, queues);
    let pair = pair.inspect_err(|_| destroy_completions(&made))?;
    seen.qp_type = common.kind;
    let own = world.id(id)?;
    if let Err(errno) = begin(own, pair) {
        let _ = pair.destroy();
        destroy_completions(&made);
        return Err(errno);
    }
    let seen = own.pointer.seen();
    (seen.qp, seen.pd) = (pair.0, pd);
    (seen.send_cq_channel, seen.send_cq) = made.send;
    (seen.recv_cq_channel, seen.recv_cq) = made.receive;
    Ok(())
}

fn destroy_completions(made: &Completions) {
    for (channel, queue) in [made.send, made.receive] {
        if !queue.is_null() {
            Ptr(queue.cast_mut()).destroy();
            Ptr(channel.cast_mut()).destroy();
        }
    }
}

/// Makes a queue pair as `rdma_create_qp` does. A program sees only of one that is there what has been filled in.
pub(crate) fn create_for_program(
    id: *mut CmId,
    pd: *mut IbvPd,
    attributes: *mut QpInitAttr,
) -> Result<(), Errno> {
    if attributes.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: programs pass null or whole attributes, which are numbers and pointers.
    let mut own = unsafe { attributes.read() };
    create_pair(&mut world::lock(), id, pd, &mut own)?;
    tell(attributes, own)
}

/// Makes a queue pair of attributes, in which what isn't said is filled in.
pub(crate) fn create_pair(
    world: &mut World,
    id: *mut CmId,
    pd: *mut IbvPd,
    asked: &mut QpInitAttr,
) -> Result<(), Errno> {
    let common = Common {
        queues: (asked.send_cq, asked.recv_cq, asked.srq),
        most: (asked.cap.max_send_wr, asked.cap.max_recv_wr),
        kind: asked.qp_type,
    };
    create(world, id, pd, common, |_, pd, queues| {
        (asked.send_cq, asked.recv_cq, asked.srq) = queues;
        Ptr(pd).create_pair(asked)
    })
}

/// Destroys an id's queue pair and what was made for it.
pub(crate) fn destroy_pair(id: *mut CmId) -> Result<(), Errno> {
    // It takes until events are acknowledged, for which a program may want the lock. So the id has them no more before.
    let Some((pair, made)) = detach(&mut world::lock(), id)? else {
        return Ok(());
    };
    pair.destroy()?;
    destroy_completions(&made);
    Ok(())
}

/// Takes an id's queue pair away from it, with the completion queues that were made for that.
fn detach(world: &mut World, id: *mut CmId) -> Result<Option<(Ptr<IbvQp>, Completions)>, Errno> {
    let own = world.id(id)?;
    let Some(pair) = pair_of(own) else {
        return Ok(None);
    };
    let seen = own.pointer.seen();
    let none = (std::ptr::null(), std::ptr::null());
    seen.qp = std::ptr::null();
    let made = Completions {
        send: (seen.send_cq_channel, seen.send_cq),
        receive: (seen.recv_cq_channel, seen.recv_cq),
    };
    (seen.send_cq_channel, seen.send_cq) = none;
    (seen.recv_cq_channel, seen.recv_cq) = none;
    Ok(Some((pair, made)))
}

/// Destroys an id's shared receive queue, if it has one.
pub(crate) fn destroy_shared(id: *mut CmId) -> Result<(), Errno> {
    // As above.
    let queue = {
        let mut world = world::lock();
        let seen = world.id(id)?.pointer.seen();
        std::mem::replace(&mut seen.srq, std::ptr::null())
    };
    if queue.is_null() {
        Ok(())
    } else {
        Ptr(queue.cast_mut()).destroy()
    }
}

/// `IBV_QP_INIT_ATTR_PD`
const WITH_DOMAIN: u32 = 1;

entry! {
    fn rdma_create_qp(id: *mut CmId, pd: *mut IbvPd, attributes: *mut QpInitAttr) -> c_int {
        create_for_program(id, pd, attributes)?;
        Ok(0)
    }

    fn rdma_create_qp_ex(id: *mut CmId, attributes: *mut QpInitAttrEx) -> c_int {
        if attributes.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: as above.
        let mut asked = unsafe { attributes.read() };
        let pd = if asked.comp_mask & WITH_DOMAIN != 0 { asked.pd } else { std::ptr::null() };
        let common = Common {
            queues: (asked.send_cq, asked.recv_cq, asked.srq),
            most: (asked.cap.max_send_wr, asked.cap.max_recv_wr),
            kind: asked.qp_type,
        };
        create(&mut world::lock(), id, pd.cast_mut(), common, |port, pd, queues| {
            (asked.send_cq, asked.recv_cq, asked.srq) = queues;
            (asked.pd, asked.comp_mask) = (pd, asked.comp_mask | WITH_DOMAIN);
            port.context.create_pair_ex(&raw mut asked)
        })?;
        tell(attributes, asked)?;
        Ok(0)
    }

    fn rdma_destroy_qp(id: *mut CmId) {
        destroy_pair(id)
    }

    fn rdma_create_srq(id: *mut CmId, pd: *mut IbvPd, attributes: *mut SrqInitAttr) -> c_int {
        let mut world = world::lock();
        let own = world.id(id)?;
        own.port.ok_or(Errno::INVALID)?;
        let seen = own.pointer.seen();
        let pd = if pd.is_null() { seen.pd.cast_mut() } else { pd };
        seen.srq = Ptr(pd).create_shared(attributes)?.0;
        Ok(0)
    }

    fn rdma_create_srq_ex(id: *mut CmId, attributes: *mut SrqInitAttrEx) -> c_int {
        let mut world = world::lock();
        let port = world.id(id)?.port.ok_or(Errno::INVALID)?;
        let context = world.ports[port].context;
        let seen = world.id(id)?.pointer.seen();
        // SAFETY: as above.
        let asked = unsafe { attributes.as_mut() }.ok_or(Errno::INVALID)?;
        if asked.pd.is_null() {
            asked.pd = seen.pd;
        }
        seen.srq = context.create_shared_ex(attributes)?.0;
        Ok(0)
    }

    fn rdma_destroy_srq(id: *mut CmId) {
        destroy_shared(id)
    }

    /// What `ibv_modify_qp` is to be told for the state that the attributes name.
    fn rdma_init_qp_attr(id: *mut CmId, attributes: *mut QpAttr, mask: *mut c_int) -> c_int {
        let mut world = world::lock();
        let asked = crate::object::read(attributes).ok_or(Errno::INVALID)?;
        let port = world.id(id)?.port.ok_or(Errno::INVALID)?;
        let own = world.ids.get(&id.addr()).ok_or(Errno::INVALID)?;
        let step = match asked.qp_state {
            state::INIT => Some(init(own)),
            state::RTR if own.is_datagram() => Some((asked, bit::STATE)),
            state::RTS if own.is_datagram() => Some((asked, bit::STATE | bit::SQ_PSN)),
            state::RTR => ready_to_receive(own, &world.ports[port]),
            state::RTS => ready_to_send(own),
            _ => None,
        };
        let (step, with) = step.ok_or(Errno::INVALID)?;
        tell(attributes, step)?;
        tell(mask, with as c_int)?;
        Ok(0)
    }
}
