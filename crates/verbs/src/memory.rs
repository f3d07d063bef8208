//! Memory regions.
#![allow(unsafe_code, reason = "programs register their memory by address")]

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_softnic::{Region, Rights};

use crate::abi::{IbvMr, OrMinus};
use crate::args::Handle;
use crate::domain::Pd;
use crate::guard::{Errno, callback, entry};
use crate::nic::Nic;
use crate::object::{Object, With, give, take};
use crate::uses::Use;

/// A memory region.
pub(crate) type Mr = With<IbvMr, MrInner>;

#[derive(Debug)]
pub(crate) struct MrInner {
    nic: Arc<Nic>,
    region: Mutex<Region>,
    domain: Mutex<Use>,
    /// Whether there is no memory behind it.
    null: bool,
    /// `enum ibv_access_flags`
    access: AtomicU32,
}

/// `IBV_ACCESS_OPTIONAL_RANGE`: hints, of which nothing is to be done.
const HINTS: c_uint = 0x3ff0_0000;
/// `IBV_ACCESS_HUGETLB` says how pages are allocated, which is all the same here.
const HUGE: c_uint = 1 << 7;
const ON_DEMAND: c_uint = 1 << 6;
const ZERO_BASED: c_uint = 1 << 5;

/// Rights by bit of `enum ibv_access_flags`.
const KNOWN: [Rights; 5] = [
    Rights::LOCAL_WRITE,
    Rights::REMOTE_WRITE,
    Rights::REMOTE_READ,
    Rights::REMOTE_ATOMIC,
    Rights::BIND,
];

/// Rights of `enum ibv_access_flags`.
pub(crate) fn rights(flags: c_uint) -> Result<Rights, Errno> {
    let flags = flags & !(HINTS | HUGE);
    if flags & ON_DEMAND != 0 {
        return Err(Errno::NOT_SUPPORTED);
    }
    if flags >> KNOWN.len() != 0 {
        return Err(Errno::INVALID);
    }
    let set = KNOWN
        .iter()
        .enumerate()
        .filter(|(bit, _)| flags >> bit & 1 != 0);
    Ok(set.fold(Rights::NONE, |all, (_, &right)| all | right))
}

/// `enum ibv_access_flags` of rights.
pub(crate) fn flags(rights: Rights) -> c_uint {
    let set = KNOWN
        .iter()
        .enumerate()
        .filter(|(_, right)| rights.include(**right));
    set.fold(0, |all, (bit, _)| all | 1 << bit)
}

/// Registers memory, which requests name by `name`.
fn register(
    pd: &Pd,
    (start, length): (*mut c_void, usize),
    name: u64,
    access: c_uint,
) -> Result<Region, Errno> {
    let rights = rights(access & !ZERO_BASED)?;
    let name = if access & ZERO_BASED == 0 { name } else { 0 };
    let memory = (start.cast::<u8>(), length);
    // SAFETY: who registers memory promises to keep it until the region is deregistered.
    Ok(unsafe {
        pd.own
            .nic
            .device
            .register(pd.own.domain, memory, name, rights)
    }?)
}

fn create(
    pd: Handle<Pd>,
    memory: (*mut c_void, usize),
    name: u64,
    access: c_uint,
) -> Result<*const IbvMr, Errno> {
    let pd = pd.get()?;
    let region = register(pd, memory, name, access)?;
    Ok(made(pd, region, memory, Some(access)))
}

/// A region as programs have it: with the rights that they asked for, or a null one.
fn made(
    pd: &Pd,
    region: Region,
    memory: (*mut c_void, usize),
    access: Option<c_uint>,
) -> *const IbvMr {
    let public = IbvMr {
        context: pd.public.context,
        pd: AtomicPtr::new(pd.public().cast_mut()),
        addr: AtomicPtr::new(memory.0),
        length: AtomicUsize::new(memory.1),
        handle: 0,
        lkey: AtomicU32::new(region.local_key),
        rkey: AtomicU32::new(region.remote_key),
    };
    let own = MrInner {
        nic: pd.own.nic.clone(),
        region: Mutex::new(region),
        domain: Mutex::new(pd.own.uses.add()),
        null: access.is_none(),
        access: AtomicU32::new(access.unwrap_or_default()),
    };
    give(Box::new(With { public, own }))
}

/// `enum ibv_rereg_mr_flags`
mod change {
    use std::ffi::c_int;

    pub(super) const TRANSLATION: c_int = 1;
    pub(super) const DOMAIN: c_int = 1 << 1;
    pub(super) const ACCESS: c_int = 1 << 2;
}

/// What a region is to become.
struct Change {
    flags: c_int,
    pd: Handle<Pd>,
    memory: (*mut c_void, usize),
    access: c_uint,
}

impl Mr {
    fn region(&self) -> MutexGuard<'_, Region> {
        self.own
            .region
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn domain(&self) -> MutexGuard<'_, Use> {
        self.own
            .domain
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a region; with other memory it has other keys.
    fn change(&self, to: &Change) -> Result<(), Errno> {
        let with = |flag: c_int| to.flags & flag != 0;
        if self.own.null
            || to.flags == 0
            || to.flags & !(change::TRANSLATION | change::DOMAIN | change::ACCESS) != 0
        {
            return Err(Errno::INVALID);
        }
        let mut region = self.region();
        let device = &self.own.nic.device;
        let pd = Handle::<Pd>(self.public.pd.load(Ordering::Relaxed)).get()?;
        let pd = if with(change::DOMAIN) {
            to.pd.get()?
        } else {
            pd
        };
        let rights = with(change::ACCESS)
            .then(|| rights(to.access))
            .transpose()?;
        if with(change::TRANSLATION) {
            let access =
                rights.map_or_else(|| self.own.access.load(Ordering::Relaxed), |_| to.access);
            let fresh = register(pd, to.memory, to.memory.0.addr() as u64, access)?;
            if let Err(error) = device.deregister(&region) {
                device.deregister(&fresh)?;
                return Err(error.into());
            }
            *region = fresh;
            self.public.addr.store(to.memory.0, Ordering::Relaxed);
            self.public.length.store(to.memory.1, Ordering::Relaxed);
            self.public.lkey.store(fresh.local_key, Ordering::Relaxed);
            self.public.rkey.store(fresh.remote_key, Ordering::Relaxed);
        } else {
            let domain = with(change::DOMAIN).then_some(pd.own.domain);
            device.reregister(&region, domain, rights)?;
        }
        self.public
            .pd
            .store(pd.public().cast_mut(), Ordering::Relaxed);
        *self.domain() = pd.own.uses.add();
        if with(change::ACCESS) {
            self.own.access.store(to.access, Ordering::Relaxed);
        }
        Ok(())
    }
}

entry! {
    fn ibv_reg_mr(pd: Handle<Pd>, start: *mut c_void, length: usize, access: c_int) -> *const IbvMr {
        create(pd, (start, length), start.addr() as u64, access as c_uint)
    }

    fn ibv_reg_mr_iova(
        pd: Handle<Pd>,
        start: *mut c_void,
        length: usize,
        name: u64,
        access: c_int,
    ) -> *const IbvMr {
        create(pd, (start, length), name, access as c_uint)
    }

    fn ibv_reg_mr_iova2(
        pd: Handle<Pd>,
        start: *mut c_void,
        length: usize,
        name: u64,
        access: c_uint,
    ) -> *const IbvMr {
        create(pd, (start, length), name, access)
    }

    /// Says which of the errors of `enum ibv_rereg_mr_err_code` it is: the region is as it was.
    fn ibv_rereg_mr(
        mr: Handle<Mr>,
        flags: c_int,
        pd: Handle<Pd>,
        start: *mut c_void,
        length: usize,
        access: c_int,
    ) -> OrMinus<c_int> {
        let access = access as c_uint;
        let memory = (start, length);
        mr.get()?.change(&Change { flags, pd, memory, access })?;
        Ok(OrMinus(0))
    }

    fn ibv_dereg_mr(mr: Handle<Mr>) -> c_int {
        let own = mr.get()?;
        let region = *own.region();
        own.own.nic.device.deregister(&region)?;
        drop(take(mr)?);
        Ok(0)
    }
}

callback! {
    /// A null region, of which only the local key can be used.
    fn alloc_null_mr(pd: Handle<Pd>) -> *const IbvMr {
        let pd = pd.get()?;
        let region = pd.own.nic.device.allocate_null(pd.own.domain)?;
        Ok(made(pd, region, (std::ptr::null_mut(), usize::MAX), None))
    }
}
