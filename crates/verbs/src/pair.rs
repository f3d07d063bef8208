//! Queue pairs: made and destroyed.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_softnic::{Operation, QpNumber, QueuePairOptions, SendRequest, Service};

use crate::abi::{
    ConditionRoom, IbvQp, IbvQpEx, MutexRoom, QpAttr, QpCap, QpInitAttr, QpInitAttrEx,
};
use crate::args::{Handle, Out};
use crate::context::Context;
use crate::domain::Pd;
use crate::guard::{Errno, callback, entry};
use crate::known::Known;
use crate::nic::Nic;
use crate::object::{Object, With, take};
use crate::owed::Owed;
use crate::pair_ex::{self, Batch};
use crate::post::flags;
use crate::queue::Cq;
use crate::shared_queue::Srq;
use crate::uses::Use;

/// A queue pair, of either kind.
pub(crate) type Qp = With<IbvQpEx, QpInner>;

#[derive(Debug)]
pub(crate) struct QpInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) number: QpNumber,
    pub(crate) service: Service,
    pub(crate) cap: QpCap,
    /// Whether success of every request is reported.
    pub(crate) signal_all: bool,
    attributes: Mutex<QpAttr>,
    /// What is being posted by `ibv_wr_*`, if it was made for that.
    pub(crate) batch: Option<Batch>,
    pub(crate) owed_events: Arc<Owed>,
    _domain: Use,
}

impl QpInner {
    /// What it has been told by `ibv_modify_qp`.
    pub(crate) fn attributes(&self) -> QpAttr {
        *self
            .attributes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what it has been told.
    pub(crate) fn set_attributes(&self, attributes: QpAttr) {
        *self
            .attributes
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = attributes;
    }

    pub(crate) const fn is_datagram(&self) -> bool {
        matches!(self.service, Service::UnreliableDatagram)
    }

    /// A request without data.
    pub(crate) fn request(
        &self,
        id: u64,
        operation: Operation,
        with: u32,
    ) -> Result<SendRequest, Errno> {
        if with & !flags::ALL != 0 {
            return Err(Errno::INVALID);
        }
        let mut request = SendRequest::new(id, operation, Vec::new());
        request.signaled = self.signal_all || with & flags::SIGNALED != 0;
        request.fence = with & flags::FENCE != 0;
        request.solicited = with & flags::SOLICITED != 0;
        Ok(request)
    }
}

impl Qp {
    /// Forgets completions that the device has forgotten, too, where they have been fetched ahead.
    pub(crate) fn forget_completions(&self) -> Result<(), Errno> {
        for queue in [self.public.base.send_cq, self.public.base.recv_cq] {
            let queue = Handle::<Cq>(queue).get()?;
            queue.own.current.forget(self.own.number.get());
        }
        Ok(())
    }
}

/// Bytes of inline data that every queue pair has room for: hardware grants more than is asked for, and programs that ask for
/// none rely on it.
const INLINE: u32 = 64;

/// The sizes that a queue pair has of those asked for.
fn granted(asked: QpCap) -> QpCap {
    QpCap {
        max_inline_data: asked.max_inline_data.max(INLINE),
        ..asked
    }
}

const fn service(kind: c_int) -> Option<Service> {
    match kind {
        2 => Some(Service::ReliableConnection),
        3 => Some(Service::UnreliableConnection),
        4 => Some(Service::UnreliableDatagram),
        _ => None,
    }
}

fn options(pd: &Pd, asked: &QpInitAttr, service: Service) -> Result<QueuePairOptions, Errno> {
    let send = Handle::<Cq>(asked.send_cq).get()?;
    let receive = Handle::<Cq>(asked.recv_cq).get()?;
    let shared = Handle::<Srq>(asked.srq).option();
    let nics = [
        Some(&send.own.nic),
        Some(&receive.own.nic),
        shared.map(|shared| &shared.own.nic),
    ];
    nics.into_iter()
        .flatten()
        .try_for_each(|nic| pd.own.nic.check_own(nic))?;
    let cap = &asked.cap;
    Ok(QueuePairOptions {
        service,
        receive_queue: receive.own.queue,
        shared: shared.map(|shared| shared.own.queue),
        most_requests: cap.max_send_wr,
        most_receives: cap.max_recv_wr,
        most_pieces: cap.max_send_sge.max(cap.max_recv_sge).max(1),
        most_inline: cap.max_inline_data,
        ..QueuePairOptions::new(pd.own.domain, send.own.queue)
    })
}

/// Creates a queue pair: with so many operations of `ibv_wr_*` if it is to have them, or the one for management datagrams. Says
/// in `asked` which sizes it has.
fn create(
    pd: Handle<Pd>,
    asked: &mut QpInitAttr,
    operations: Option<u64>,
    management: bool,
) -> Result<*const IbvQp, Errno> {
    let pd = pd.get()?;
    let service = service(asked.qp_type).ok_or(Errno::NOT_SUPPORTED)?;
    let cap = granted(asked.cap);
    let options = options(pd, &QpInitAttr { cap, ..*asked }, service)?;
    let functions = pair_ex::functions(service, operations)?;
    let nic = pd.own.nic.clone();
    let number = match management {
        true => nic.device.create_management_pair(&options)?,
        false => nic.device.create_queue_pair(&options)?,
    };
    let base = IbvQp {
        context: pd.public.context,
        qp_context: asked.qp_context,
        pd: pd.public(),
        send_cq: asked.send_cq,
        recv_cq: asked.recv_cq,
        srq: asked.srq,
        handle: 0,
        qp_num: number.get(),
        state: AtomicI32::new(0),
        qp_type: asked.qp_type,
        mutex: MutexRoom::default(),
        cond: ConditionRoom::default(),
        events_completed: AtomicU32::new(0),
    };
    let own = QpInner {
        nic,
        number,
        service,
        cap,
        signal_all: asked.sq_sig_all != 0,
        attributes: Mutex::default(),
        batch: operations.map(|_| Batch::default()),
        owed_events: Arc::default(),
        _domain: pd.own.uses.add(),
    };
    let public = IbvQpEx { base, ..functions };
    let nic = own.nic.clone();
    let known = Known::within(pd, own.owed_events.clone())?;
    let object = Box::new(With { public, own });
    asked.cap = cap;
    Ok(nic.pairs.publish(number.get(), object, known))
}

/// `enum ibv_qp_init_attr_mask`
mod mask {
    pub(super) const PD: u32 = 1;
    pub(super) const FLAGS: u32 = 1 << 2;
    pub(super) const OPERATIONS: u32 = 1 << 6;
}

callback! {
    fn create_qp_ex(_context: Handle<Context>, attributes: Out<QpInitAttrEx>) -> *const IbvQp {
        let attributes = attributes.filled()?;
        let with = attributes.comp_mask;
        let flags = with & mask::FLAGS != 0 && attributes.create_flags != 0;
        if with & !(mask::PD | mask::FLAGS | mask::OPERATIONS) != 0 || flags {
            return Err(Errno::NOT_SUPPORTED);
        }
        if with & mask::PD == 0 {
            return Err(Errno::INVALID);
        }
        let mut plain = QpInitAttr {
            qp_context: attributes.qp_context,
            send_cq: attributes.send_cq,
            recv_cq: attributes.recv_cq,
            srq: attributes.srq,
            cap: attributes.cap,
            qp_type: attributes.qp_type,
            sq_sig_all: attributes.sq_sig_all,
        };
        let operations = (with & mask::OPERATIONS != 0).then_some(attributes.send_ops_flags);
        let made = create(Handle(attributes.pd), &mut plain, operations, false)?;
        attributes.cap = plain.cap;
        Ok(made)
    }
}

entry! {
    fn ibv_create_qp(pd: Handle<Pd>, attributes: Out<QpInitAttr>) -> *const IbvQp {
        create(pd, attributes.filled()?, None, false)
    }

    /// The queue pair for management datagrams, with number 1, of which a device has one: for `librdmacm.so.1`.
    fn fairlane_create_management_qp(pd: Handle<Pd>, attributes: Out<QpInitAttr>) -> *const IbvQp {
        create(pd, attributes.filled()?, None, true)
    }

    fn ibv_destroy_qp(pair: Handle<Qp>) -> c_int {
        let known = pair.get()?;
        let own = &known.own;
        own.nic.device.destroy_queue_pair(own.number)?;
        known.forget_completions()?;
        own.nic.pairs.remove(&own.number.get());
        drop(take(pair)?);
        Ok(0)
    }

    /// Null if it wasn't made for `ibv_wr_*`.
    fn ibv_qp_to_qp_ex(pair: Handle<Qp>) -> *const IbvQpEx {
        let pair = pair.get()?;
        Ok(match pair.own.batch {
            Some(_) => pair.public().cast(),
            None => std::ptr::null(),
        })
    }
}
