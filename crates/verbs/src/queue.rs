//! Completion queues.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_softnic::{Arm, Completion, CompletionQueue};

use crate::abi::{ConditionRoom, IbvCq, IbvCqEx, MutexRoom};
use crate::args::Handle;
use crate::channel::Channel;
use crate::context::{Context, VECTORS};
use crate::domain::Pd;
use crate::guard::{Errno, callback, entry};
use crate::known::Known;
use crate::nic::Nic;
use crate::object::{Object, With, take};
use crate::owed::Owed;
use crate::queue_ex::{Current, functions};
use crate::uses::Use;

/// A completion queue, of either kind.
pub(crate) type Cq = With<IbvCqEx, CqInner>;

#[derive(Debug)]
pub(crate) struct CqInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) queue: CompletionQueue,
    /// Completions on their way from the device to the program.
    polled: Mutex<Vec<Completion>>,
    /// Where a program is that polls one by one.
    pub(crate) current: Current,
    pub(crate) owed_completions: Arc<Owed>,
    pub(crate) owed_events: Arc<Owed>,
    _domain: Option<Use>,
}

impl CqInner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Completion>> {
        let mut polled = self.polled.lock().unwrap_or_else(PoisonError::into_inner);
        polled.clear();
        polled
    }
}

/// What a completion queue is made with.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) room: u32,
    pub(crate) vector: u32,
    pub(crate) tag: *mut c_void,
    pub(crate) channel: Handle<Channel>,
    /// The parent domain, if there is one.
    pub(crate) domain: Option<Handle<Pd>>,
    /// `IBV_WC_EX_WITH_*` of what is to be read.
    pub(crate) fields: u64,
}

pub(crate) fn create(context: Handle<Context>, asked: &Asked) -> Result<*const IbvCq, Errno> {
    let context = context.get()?;
    if asked.vector >= VECTORS as u32 {
        return Err(Errno::INVALID);
    }
    let nic = context.own.nic.clone();
    let channel = asked.channel.option();
    channel.map_or(Ok(()), |channel| nic.check_own(&channel.own.nic))?;
    let domain = asked.domain.map(Handle::get).transpose()?;
    if let Some(domain) = domain {
        nic.check_own(&domain.own.nic)?;
        domain.own.is_parent().then_some(()).ok_or(Errno::INVALID)?;
    }
    let queue = nic.device.create_completion_queue(asked.room)?;
    let channel = channel.map(|channel| channel.own.channel);
    if let Err(error) = nic.device.set_channel(queue, channel) {
        nic.device.destroy_completion_queue(queue)?;
        return Err(error.into());
    }
    let base = IbvCq {
        context: context.public(),
        channel: asked.channel.0,
        cq_context: asked.tag,
        handle: 0,
        cqe: AtomicI32::new(asked.room as c_int),
        mutex: MutexRoom::default(),
        cond: ConditionRoom::default(),
        comp_events_completed: AtomicU32::new(0),
        async_events_completed: AtomicU32::new(0),
    };
    let own = CqInner {
        nic,
        queue,
        polled: Mutex::new(Vec::new()),
        current: Current::default(),
        owed_completions: Arc::default(),
        owed_events: Arc::default(),
        _domain: domain.map(|domain| domain.own.uses.add()),
    };
    let public = IbvCqEx {
        base,
        comp_mask: 0,
        status: AtomicI32::new(0),
        wr_id: AtomicU64::new(0),
        ..functions(asked.fields)
    };
    let nic = own.nic.clone();
    let (completions, events) = (own.owed_completions.clone(), own.owed_events.clone());
    let object = Box::new(With { public, own });
    let known = |address| Known {
        address,
        tag: asked.tag.expose_provenance(),
        inbox: context.own.inbox.clone(),
        completions,
        events,
    };
    Ok(nic.queues.publish(queue.index(), object, known))
}

entry! {
    fn ibv_create_cq(
        context: Handle<Context>,
        room: c_int,
        tag: *mut c_void,
        channel: Handle<Channel>,
        vector: c_int,
    ) -> *const IbvCq {
        let asked = Asked {
            room: u32::try_from(room).map_err(|_| Errno::INVALID)?,
            vector: u32::try_from(vector).map_err(|_| Errno::INVALID)?,
            tag,
            channel,
            domain: None,
            fields: 0,
        };
        create(context, &asked)
    }

    fn ibv_destroy_cq(queue: Handle<Cq>) -> c_int {
        let own = &queue.get()?.own;
        own.nic.device.destroy_completion_queue(own.queue)?;
        own.nic.queues.remove(&own.queue.index());
        drop(take(queue)?);
        Ok(0)
    }

    fn ibv_resize_cq(queue: Handle<Cq>, room: c_int) -> c_int {
        let queue = queue.get()?;
        let asked = u32::try_from(room).map_err(|_| Errno::INVALID)?;
        queue.own.nic.device.resize_completion_queue(queue.own.queue, asked)?;
        queue.public.base.cqe.store(room, Ordering::Relaxed);
        Ok(0)
    }
}

callback! {
    fn req_notify_cq(queue: Handle<Cq>, solicited: c_int) -> c_int {
        let queue = queue.get()?;
        let arm = match solicited {
            0 => Arm::Any,
            _ => Arm::Solicited,
        };
        // Without a channel nobody is there to be told.
        if !queue.public.base.channel.is_null() {
            queue.own.nic.device.arm(queue.own.queue, arm)?;
        }
        Ok(0)
    }
}
