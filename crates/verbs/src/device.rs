//! Devices: found, named, opened.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use fairlane_softnic::Settings;
use fairlane_softnic::address::{self, Choice};
use fairlane_softnic::sysfs::{self, Tree};

use crate::abi::{IbvContext, IbvDevice};
use crate::args::{Handle, Out};
use crate::context;
use crate::gid;
use crate::guard::{Errno, entry, one_line_for_panics};
use crate::object::{Object, With};
use crate::words::say;

/// A device of this process.
pub(crate) type Device = With<IbvDevice, DeviceInner>;

#[derive(Debug)]
pub(crate) struct DeviceInner {
    pub(crate) choice: Choice,
    pub(crate) name: String,
    index: c_int,
}

/// Some choices, or why there are none.
fn any(choices: Result<Vec<Choice>, String>) -> Result<Vec<Choice>, String> {
    let none = "no interface is up, so there is no device\nhint: `ip link set lo up`";
    let some = choices?;
    match some.is_empty() {
        true => Err(none.to_owned()),
        false => Ok(some),
    }
}

/// All devices of this process. They stay, so that pointers to them stay good after the list is freed.
struct All(Vec<Device>);

#[allow(unsafe_code, reason = "devices contain null pointers of libibverbs")]
// SAFETY: the pointers in devices are null, and nothing of a device changes.
unsafe impl Send for All {}
#[allow(unsafe_code, reason = "devices contain null pointers of libibverbs")]
// SAFETY: as above.
unsafe impl Sync for All {}

impl All {
    fn find() -> Self {
        let choices = any(address::choose()).unwrap_or_else(|mistake| {
            say(&mistake);
            Vec::new()
        });
        show();
        let devices = (0..).zip(choices);
        Self(
            devices
                .map(|(index, choice)| device(index, choice))
                .collect(),
        )
    }
}

/// Brings the folders of devices up to date, if there are any: unless addresses are named, they come and go while programs run.
fn show() {
    let Some(tree) = std::env::var_os(sysfs::VARIABLE).map(Tree::new) else {
        return;
    };
    let variable = std::env::var(address::VARIABLE).ok();
    if variable.as_ref().is_some_and(|named| !named.contains('/')) {
        return;
    }
    if let Ok(devices) = address::foresee(variable.as_deref()) {
        // Programs get their devices by verbs whether or not the folders are right.
        drop(tree.list(&devices, &Settings::of_environment()));
    }
}

/// The devices of this process, and of none that it was forked from: each process has addresses of its own.
fn all() -> &'static [Device] {
    static ALL: Mutex<Option<(u32, &'static All)>> = Mutex::new(None);
    let process = std::process::id();
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, found) = match *all {
        Some(own) if own.0 == process => own,
        _ => *all.insert((process, Box::leak(Box::new(All::find())))),
    };
    &found.0
}

fn device(index: c_int, choice: Choice) -> Device {
    let name = format!("fairlane{index}");
    let public = IbvDevice {
        ops: [std::ptr::null(); 2],
        // IBV_NODE_CA, IBV_TRANSPORT_IB
        node_type: 1,
        transport_type: 0,
        name: chars(&name),
        dev_name: chars(&format!("uverbs{index}")),
        dev_path: chars(&format!("/sys/class/infiniband_verbs/uverbs{index}")),
        ibdev_path: chars(&format!("/sys/class/infiniband/{name}")),
    };
    let own = DeviceInner {
        choice,
        name,
        index,
    };
    With { public, own }
}

/// A text with zeros behind it.
fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut all = [0; N];
    let bytes = text.bytes().take(N - 1);
    all.iter_mut()
        .zip(bytes)
        .for_each(|(to, byte)| *to = byte as c_char);
    all
}

#[allow(
    unsafe_code,
    reason = "the list is memory that C frees by our function"
)]
fn list(devices: &[Device]) -> Result<*mut *const IbvDevice, Errno> {
    // SAFETY: it is zeroed memory for one pointer more than there are devices, or null.
    let list = unsafe { libc::calloc(devices.len() + 1, size_of::<*const IbvDevice>()) };
    let list = list.cast::<*const IbvDevice>();
    let room = Out(list)
        .array(devices.len())
        .map_err(|_| Errno::NO_MEMORY)?;
    for (to, device) in room.iter_mut().zip(devices) {
        to.write(device.public());
    }
    Ok(list)
}

entry! {
    fn ibv_get_device_list(count: Out<c_int>) -> *mut *const IbvDevice {
        one_line_for_panics();
        let devices = all();
        let list = list(devices)?;
        if !count.0.is_null() {
            count.set(devices.len() as c_int)?;
        }
        Ok(list)
    }

    fn ibv_free_device_list(list: *mut c_void) {
        #[allow(unsafe_code, reason = "C's memory")]
        // SAFETY: it is null or what `ibv_get_device_list` has returned.
        unsafe { libc::free(list) };
        Ok(())
    }

    fn ibv_get_device_name(device: Handle<Device>) -> *const c_char {
        Ok(device.get()?.public.name.as_ptr())
    }

    fn ibv_get_device_index(device: Handle<Device>) -> c_int {
        Ok(device.get()?.own.index)
    }

    /// In network order.
    fn ibv_get_device_guid(device: Handle<Device>) -> u64 {
        Ok(gid::guid(device.get()?.own.choice.address))
    }

    fn ibv_open_device(device: Handle<Device>) -> *const IbvContext {
        context::open(device.get()?)
    }
}
