//! Devices, each with a connection manager.

use std::net::IpAddr;

use fairlane_cm::{Manager, Settings, address_of};
use fairlane_verbs_abi::{IbvContext, IbvPd};

use crate::gsi::Gsi;
use crate::guard::Errno;
use crate::object::Ptr;
use crate::verbs::{ibv_free_device_list, ibv_get_device_list};

/// A device that is open.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) context: Ptr<IbvContext>,
    /// The domain of queue pairs whose programs name none.
    pub(crate) domain: Ptr<IbvPd>,
    pub(crate) address: IpAddr,
    pub(crate) gid_index: u8,
    /// The path MTU, as its code.
    pub(crate) mtu: u8,
    /// How many READs and atomics a queue pair may have.
    pub(crate) depth: u8,
    guid: u64,
    manager: Option<(Manager, Gsi)>,
}

impl Port {
    fn open(context: Ptr<IbvContext>, guid: u64) -> Result<Self, Errno> {
        let attributes = context.port()?;
        let gids = 0..attributes.gid_tbl_len.clamp(0, 255);
        let known = gids.filter_map(|index| {
            let gid = context.gid(index).ok()?;
            let is_known = gid.raw != [0; 16];
            is_known.then(|| (index as u8, address_of(gid.raw)))
        });
        let known: Vec<(u8, IpAddr)> = known.collect();
        let four = known.iter().find(|(_, address)| address.is_ipv4());
        let &(gid_index, address) = four.or_else(|| known.last()).ok_or(Errno::NO_DEVICE)?;
        Ok(Self {
            context,
            domain: context.domain()?,
            address,
            gid_index,
            mtu: attributes.active_mtu.clamp(1, 5) as u8,
            depth: context.depth(),
            guid,
            manager: None,
        })
    }

    /// Its manager and what carries that one's words, which it begins with when it is first needed.
    pub(crate) fn manager(&mut self) -> Result<&mut (Manager, Gsi), Errno> {
        if self.manager.is_none() {
            let gsi = Gsi::open(self.context, self.domain, self.gid_index)?;
            let settings = Settings {
                first_id: random(),
                ..Settings::new(self.guid)
            };
            self.manager = Some((Manager::new(settings), gsi));
        }
        self.manager.as_mut().ok_or(Errno::NO_DEVICE)
    }

    /// Its manager, if it has been needed.
    pub(crate) const fn running(&mut self) -> Option<&mut (Manager, Gsi)> {
        self.manager.as_mut()
    }
}

/// Every device that there is.
pub(crate) fn open_all() -> Vec<Port> {
    let mut count = 0;
    // SAFETY: there is room for the number.
    let list = unsafe { ibv_get_device_list(&raw mut count) };
    if list.is_null() {
        return Vec::new();
    }
    let devices = (0..usize::try_from(count).unwrap_or(0)).map(|at| {
        // SAFETY: the list has so many devices.
        unsafe { *list.add(at) }
    });
    let ports = devices.filter_map(|device| {
        let context = Ptr::<IbvContext>::open(device).ok()?;
        let port = Port::open(context, Ptr::<IbvContext>::guid(device));
        port.map_err(|_| context.close()).ok()
    });
    let ports = ports.collect();
    // SAFETY: it is the list from above; what is open stays.
    unsafe { ibv_free_device_list(list) };
    ports
}

/// A number that nobody guesses.
pub(crate) fn random() -> u32 {
    let mut bytes = [0; 4];
    // SAFETY: there is room for so many bytes.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    u32::from_ne_bytes(bytes)
}
