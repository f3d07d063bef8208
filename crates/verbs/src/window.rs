//! Memory windows.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fairlane_softnic::{Binding, Operation, Window, WindowType};

use crate::abi::{IbvMw, MwBind, MwBindInfo};
use crate::args::{Handle, In};
use crate::domain::Pd;
use crate::guard::{Errno, callback};
use crate::memory::{Mr, rights};
use crate::nic::Nic;
use crate::object::{Object, With, give, take};
use crate::pair::Qp;
use crate::uses::Use;

/// A memory window.
pub(crate) type Mw = With<IbvMw, MwInner>;

#[derive(Debug)]
pub(crate) struct MwInner {
    nic: Arc<Nic>,
    _domain: Use,
}

/// `IBV_ACCESS_ZERO_BASED`
const ZERO_BASED: c_uint = 1 << 5;

/// What a window is bound to by a request with its next key.
pub(crate) fn binding(window: Handle<Mw>, key: u32, to: &MwBindInfo) -> Result<Operation, Errno> {
    window.get()?;
    let region = match Handle::<Mr>(to.mr).option() {
        Some(region) => region.public.lkey.load(Ordering::Relaxed),
        None if to.length == 0 => 0,
        None => return Err(Errno::INVALID),
    };
    Ok(Operation::Bind(Binding {
        key,
        region,
        address: to.addr,
        length: to.length,
        rights: rights(to.mw_access_flags & !ZERO_BASED)?,
        zero_based: to.mw_access_flags & ZERO_BASED != 0,
    }))
}

callback! {
    fn alloc_mw(pd: Handle<Pd>, kind: c_int) -> *const IbvMw {
        let pd = pd.get()?;
        let asked = match kind {
            1 => WindowType::One,
            2 => WindowType::Two,
            _ => return Err(Errno::INVALID),
        };
        let nic = pd.own.nic.clone();
        let window = nic.device.allocate_window(pd.own.domain, asked)?;
        let public = IbvMw {
            context: pd.public.context,
            pd: pd.public(),
            rkey: AtomicU32::new(window.key),
            handle: 0,
            kind,
        };
        let own = MwInner { nic, _domain: pd.own.uses.add() };
        Ok(give(Box::new(With { public, own })))
    }

    /// Binds a window of type 1; it has its next key as soon as that is posted.
    fn bind_mw(pair: Handle<Qp>, window: Handle<Mw>, asked: In<MwBind>) -> c_int {
        let (pair, asked) = (&pair.get()?.own, asked.get()?);
        let rkey = &window.get()?.public.rkey;
        let key = Window::next_key(rkey.load(Ordering::Relaxed));
        let operation = binding(window, key, &asked.bind_info)?;
        let request = pair.request(asked.wr_id, operation, asked.send_flags)?;
        pair.nic.device.post_send(pair.number, request)?;
        rkey.store(key, Ordering::Relaxed);
        Ok(0)
    }

    fn dealloc_mw(window: Handle<Mw>) -> c_int {
        let own = window.get()?;
        own.own.nic.device.free_window(own.public.rkey.load(Ordering::Relaxed))?;
        drop(take(window)?);
        Ok(0)
    }
}
