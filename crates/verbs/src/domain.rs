//! Protection domains, thread domains, and parent domains that put both together.

use std::ffi::c_int;
use std::sync::Arc;

use fairlane_softnic::Domain;

use crate::abi::{IbvPd, IbvTd, ParentDomainInitAttr, TdInitAttr};
use crate::args::{Handle, In, Out};
use crate::context::Context;
use crate::guard::{Errno, callback, entry};
use crate::nic::Nic;
use crate::object::{Object, With, give, take};
use crate::uses::{Use, Uses};

/// A protection domain, or a parent domain, which is used like one.
pub(crate) type Pd = With<IbvPd, PdInner>;

#[derive(Debug)]
pub(crate) struct PdInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) domain: Domain,
    /// By objects that are made with it.
    pub(crate) uses: Uses,
    /// What a parent domain consists of.
    parts: Option<Parts>,
}

#[derive(Debug)]
struct Parts {
    _domain: Use,
    _thread: Option<Use>,
}

impl PdInner {
    pub(crate) const fn is_parent(&self) -> bool {
        self.parts.is_some()
    }
}

/// A thread domain: that one thread at a time uses its objects, of which nothing follows here.
pub(crate) type Td = With<IbvTd, Thread>;

#[derive(Debug)]
pub(crate) struct Thread {
    nic: Arc<Nic>,
    uses: Uses,
}

/// `enum ibv_parent_domain_init_attr_mask`
mod mask {
    /// Functions that allocate the memory of queues, which isn't such here.
    pub(super) const ALLOCATORS: u32 = 1;
    /// What those are told.
    pub(super) const CONTEXT: u32 = 1 << 1;
}

fn create(context: *const crate::abi::IbvContext, own: PdInner) -> *const IbvPd {
    let public = IbvPd { context, handle: 0 };
    give(Box::new(With { public, own }))
}

entry! {
    fn ibv_alloc_pd(context: Handle<Context>) -> *const IbvPd {
        let context = context.get()?;
        let nic = context.own.nic.clone();
        let domain = nic.device.allocate_domain()?;
        let uses = Uses::default();
        Ok(create(context.public(), PdInner { nic, domain, uses, parts: None }))
    }

    fn ibv_dealloc_pd(pd: Handle<Pd>) -> c_int {
        let own = &pd.get()?.own;
        own.uses.check_none()?;
        if !own.is_parent() {
            own.nic.device.free_domain(own.domain)?;
        }
        drop(take(pd)?);
        Ok(0)
    }
}

callback! {
    fn alloc_parent_domain(context: Handle<Context>, attributes: Out<ParentDomainInitAttr>) -> *const IbvPd {
        let (context, attributes) = (context.get()?, attributes.filled()?);
        if attributes.comp_mask & mask::ALLOCATORS != 0 {
            return Err(Errno::NOT_SUPPORTED);
        }
        if attributes.comp_mask & !mask::CONTEXT != 0 {
            return Err(Errno::INVALID);
        }
        let pd = &Handle::<Pd>(attributes.pd).get()?.own;
        let thread = Handle::<Td>(attributes.td).option();
        let nic = context.own.nic.clone();
        nic.check_own(&pd.nic)?;
        thread.map_or(Ok(()), |thread| nic.check_own(&thread.own.nic))?;
        let parts = Parts {
            _domain: pd.uses.add(),
            _thread: thread.map(|thread| thread.own.uses.add()),
        };
        let own = PdInner { nic, domain: pd.domain, uses: Uses::default(), parts: Some(parts) };
        Ok(create(context.public(), own))
    }

    fn alloc_td(context: Handle<Context>, attributes: In<TdInitAttr>) -> *const IbvTd {
        let (context, attributes) = (context.get()?, attributes.get()?);
        if attributes.comp_mask != 0 {
            return Err(Errno::INVALID);
        }
        let public = IbvTd { context: context.public() };
        let own = Thread { nic: context.own.nic.clone(), uses: Uses::default() };
        Ok(give(Box::new(With { public, own })))
    }

    fn dealloc_td(td: Handle<Td>) -> c_int {
        td.get()?.own.uses.check_none()?;
        drop(take(td)?);
        Ok(0)
    }
}
