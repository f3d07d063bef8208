//! Shared receive queues.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use fairlane_softnic::SharedQueue;

use crate::abi::{ConditionRoom, IbvSrq, MutexRoom, SrqAttr, SrqInitAttr, SrqInitAttrEx};
use crate::args::{Handle, In, Out};
use crate::context::Context;
use crate::domain::Pd;
use crate::guard::{Errno, callback, entry};
use crate::known::Known;
use crate::nic::Nic;
use crate::object::{Object, With, take};
use crate::owed::Owed;
use crate::uses::Use;

/// A shared receive queue.
pub(crate) type Srq = With<IbvSrq, SrqInner>;

#[derive(Debug)]
pub(crate) struct SrqInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) queue: SharedQueue,
    /// Pieces of a receive at most.
    pub(crate) pieces: u32,
    pub(crate) owed_events: Arc<Owed>,
    _domain: Use,
}

fn create(
    pd: Handle<Pd>,
    tag: *mut c_void,
    attributes: &mut SrqAttr,
) -> Result<*const IbvSrq, Errno> {
    let pd = pd.get()?;
    attributes.max_sge = attributes.max_sge.max(1);
    let nic = pd.own.nic.clone();
    let queue =
        nic.device
            .create_shared_queue(pd.own.domain, attributes.max_wr, attributes.max_sge)?;
    let public = IbvSrq {
        context: pd.public.context,
        srq_context: tag,
        pd: pd.public(),
        handle: 0,
        mutex: MutexRoom::default(),
        cond: ConditionRoom::default(),
        events_completed: AtomicU32::new(0),
    };
    let own = SrqInner {
        nic,
        queue,
        pieces: attributes.max_sge,
        owed_events: Arc::default(),
        _domain: pd.own.uses.add(),
    };
    let nic = own.nic.clone();
    let known = Known::within(pd, own.owed_events.clone())?;
    let object = Box::new(With { public, own });
    Ok(nic.shared.publish(queue.index(), object, known))
}

entry! {
    fn ibv_create_srq(pd: Handle<Pd>, attributes: Out<SrqInitAttr>) -> *const IbvSrq {
        let attributes = attributes.filled()?;
        create(pd, attributes.srq_context, &mut attributes.attr)
    }

    fn ibv_modify_srq(srq: Handle<Srq>, attributes: In<SrqAttr>, mask: c_int) -> c_int {
        const SIZE: c_int = 1;
        const LIMIT: c_int = 1 << 1;
        let (own, asked) = (&srq.get()?.own, attributes.get()?);
        if mask & !(SIZE | LIMIT) != 0 {
            return Err(Errno::INVALID);
        }
        let room = (mask & SIZE != 0).then_some(asked.max_wr);
        let limit = (mask & LIMIT != 0).then_some(asked.srq_limit);
        own.nic.device.modify_shared_queue(own.queue, room, limit)?;
        Ok(0)
    }

    fn ibv_query_srq(srq: Handle<Srq>, attributes: Out<SrqAttr>) -> c_int {
        let own = &srq.get()?.own;
        let queried = own.nic.device.query_shared_queue(own.queue)?;
        attributes.set(SrqAttr {
            max_wr: queried.receives,
            max_sge: queried.pieces,
            srq_limit: queried.limit,
        })?;
        Ok(0)
    }

    fn ibv_destroy_srq(srq: Handle<Srq>) -> c_int {
        let own = &srq.get()?.own;
        own.nic.device.destroy_shared_queue(own.queue)?;
        own.nic.shared.remove(&own.queue.index());
        drop(take(srq)?);
        Ok(0)
    }
}

callback! {
    /// Called for what `ibv_create_srq` can't do: other types, which aren't there.
    fn create_srq_ex(_context: Handle<Context>, _attributes: Out<SrqInitAttrEx>) -> *const IbvSrq {
        Err(Errno::NOT_SUPPORTED)
    }
}
