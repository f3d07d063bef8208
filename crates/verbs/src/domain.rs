//! Protection domains.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::IbvPd;
use crate::args::Handle;
use crate::context::Context;
use crate::guard::entry;
use crate::nic::Nic;
use crate::object::{Object, With, give, take};

/// A protection domain.
pub(crate) type Pd = With<IbvPd, Own>;

#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) nic: Arc<Nic>,
    pub(crate) domain: fairlane_softnic::Domain,
}

entry! {
    fn ibv_alloc_pd(context: Handle<Context>) -> *const IbvPd {
        let context = context.get()?;
        let nic = context.own.nic.clone();
        let domain = nic.device.allocate_domain()?;
        let public = IbvPd {
            context: context.public(),
            handle: 0,
        };
        let own = Own { nic, domain };
        Ok(give(Box::new(With { public, own })))
    }

    fn ibv_dealloc_pd(pd: Handle<Pd>) -> c_int {
        let own = &pd.get()?.own;
        own.nic.device.free_domain(own.domain)?;
        drop(take(pd)?);
        Ok(0)
    }
}
