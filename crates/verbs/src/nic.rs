//! The software NICs of this process: one for each address, shared by all contexts that have it open.

pub(crate) mod limits;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fairlane_softnic::address::Choice;
use fairlane_softnic::{Device, Settings, TenantId, sysfs};

use crate::events::Inbox;
use crate::gid;
use crate::gids::Gids;
use crate::guard::Errno;
use crate::known::Table;
use crate::named;
use crate::words::{note, say};

/// A software NIC that is open.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) device: Device,
    /// Its table of partition keys.
    pub(crate) partitions: Vec<TenantId>,
    /// Completion queues by number.
    pub(crate) queues: Table<u32>,
    /// Shared queues by number.
    pub(crate) shared: Table<u32>,
    /// Queue pairs by number.
    pub(crate) pairs: Table<u32>,
    /// Events of its contexts.
    inboxes: Mutex<Vec<Weak<Inbox>>>,
}

#[derive(Debug)]
struct Open {
    process: u32,
    address: IpAddr,
    nic: Weak<Nic>,
}

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

impl Nic {
    /// The NIC at an address, which stays open as long as somebody has it.
    pub(crate) fn open(name: &str, choice: &Choice) -> Result<Arc<Self>, Errno> {
        let address = choice.address;
        // A child has none of its parent's: sockets are shared, but threads aren't.
        let process = std::process::id();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|own| own.process == process && own.nic.strong_count() > 0);
        let known = open.iter().find(|own| own.address == address);
        if let Some(nic) = known.and_then(|own| own.nic.upgrade()) {
            return Ok(nic);
        }
        let faults = named::faults()?;
        let mut settings = Settings::new(address);
        named::apply(&mut settings)?;
        name.clone_into(&mut settings.name);
        settings.lab = std::env::var_os(Settings::LAB).map(Into::into);
        if settings.lab.is_some() {
            settings.beside_lab = named::words();
        }
        settings.sysfs = std::env::var_os(sysfs::VARIABLE).map(Into::into);
        let device = Device::open(settings).map_err(|error| {
            say(&error.to_string());
            Errno::from(error)
        })?;
        if let Some(faults) = faults {
            device.set_faults(Some(faults));
        }
        note(&format!(
            "{name} has GID {} (index {}) on {}: {}",
            std::net::Ipv6Addr::from(gid::of(address).raw),
            gid::slot(address),
            choice.interface.name,
            choice.why
        ));
        let nic = Arc::new(Self {
            partitions: device.partitions(),
            device,
            queues: Table::default(),
            shared: Table::default(),
            pairs: Table::default(),
            inboxes: Mutex::default(),
        });
        open.push(Open {
            process,
            address,
            nic: Arc::downgrade(&nic),
        });
        Ok(nic)
    }
}

impl Nic {
    /// Its GIDs.
    pub(crate) fn gids(&self) -> Gids {
        Gids {
            address: self.device.address(),
            place: self.device.gid_place(),
        }
    }

    fn inboxes(&self) -> MutexGuard<'_, Vec<Weak<Inbox>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new context's place for events.
    pub(crate) fn inbox(&self) -> Result<Arc<Inbox>, Errno> {
        let inbox = Arc::new(Inbox::new(self)?);
        let mut inboxes = self.inboxes();
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        Ok(inbox)
    }

    /// Refuses an object of another device: the number that it has there is another object's here.
    pub(crate) fn check_own(&self, other: &Arc<Self>) -> Result<(), Errno> {
        match std::ptr::eq(self, Arc::as_ptr(other)) {
            true => Ok(()),
            false => Err(Errno::INVALID),
        }
    }

    /// Does something with the inbox of every context.
    pub(crate) fn each_inbox(&self, act: impl Fn(&Inbox)) {
        let inboxes: Vec<_> = self.inboxes().iter().filter_map(Weak::upgrade).collect();
        inboxes.iter().for_each(|inbox| act(inbox));
    }
}
