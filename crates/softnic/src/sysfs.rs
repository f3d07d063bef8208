//! The folders of devices that a kernel has: many programs look there before they call a verb.
//!
//! A [`Tree`] is a folder in which these are, for others to show at their places (`fairlane exec` does):
//! ```text
//! sys/class/infiniband/fairlane0/          node_guid, node_type ...
//!                                ports/1/  state, rate, gids, gid_attrs, pkeys, counters, hw_counters ...
//! sys/class/infiniband_verbs/uverbs0/      ibdev, abi_version, dev
//! dev/infiniband/uverbs0, rdma_cm          links to /dev/null: nobody needs to open them
//! ```
//! Files have the form of `Documentation/ABI/stable/sysfs-class-infiniband` of Linux.
//!
//! **Counters are live.** A device whose [`Settings`] name the tree adds what it has counted ten times a second,
//! and when it is closed. So a file has the sum of all processes whose device has that name there, also of those that have ended,
//! as the counters of a port have in a kernel. Processes take turns by a lock of the tree.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::net::Ipv6Addr;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::address::Choice;
use crate::counters::Counters;
use crate::gid;
use crate::port_speed::PortSpeed;
use crate::settings::Settings;

mod publisher;

pub(crate) use publisher::Publisher;

/// The variable that names the tree of a process.
pub const VARIABLE: &str = "FAIRLANE_SYSFS";
/// Where a kernel has what the tree has, below the tree: folders that are of RDMA alone.
pub const PLACES: [&str; 3] = [
    "sys/class/infiniband",
    "sys/class/infiniband_verbs",
    "dev/infiniband",
];

const DEVICES: &str = PLACES[0];
const VERBS: &str = PLACES[1];
const NODES: &str = PLACES[2];
/// `IB_USER_VERBS_ABI_VERSION` of Linux, and the version of a driver's own part, which there is none of.
const ABI_VERSIONS: (&str, &str) = ("6", "1");
/// Numbers of devices for verbs begin with this one (`IB_UVERBS_MAJOR`, `IB_UVERBS_BASE_MINOR`).
const FIRST_NODE: (u32, usize) = (231, 192);
/// `counters` of a port, and by which names `hw_counters` have the same, if they do.
const OF_PORT: [(&str, &str); 5] = [
    ("port_xmit_data", "port_xmit_data"),
    ("port_rcv_data", "port_rcv_data"),
    ("port_xmit_packets", "sent_pkts"),
    ("port_rcv_packets", "rcvd_pkts"),
    ("link_downed", "link_downed"),
];

/// How long others may write, of which each takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is tried meanwhile.
const AGAIN: Duration = Duration::from_millis(1);

/// Folders of devices.
#[derive(Clone, Debug)]
pub struct Tree(PathBuf);

impl Tree {
    /// The tree in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Makes folders and files of devices at these addresses, `fairlane0` first, and removes those of others. Counters stay as they
    /// are. Of `settings` rate and partition keys count.
    ///
    /// # Errors
    /// If something can't be written.
    pub fn list(&self, devices: &[Choice], settings: &Settings) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let _turn = self.turn()?;
        for place in PLACES {
            fs::create_dir_all(self.0.join(place))?;
        }
        self.put(&format!("{VERBS}/abi_version"), ABI_VERSIONS.0)?;
        self.link("rdma_cm")?;
        for (index, device) in devices.iter().enumerate() {
            self.add(index, device, settings)?;
        }
        (devices.len()..)
            .take_while(|index| self.remove(*index))
            .for_each(drop);
        Ok(())
    }

    fn add(&self, index: usize, device: &Choice, settings: &Settings) -> io::Result<()> {
        let [major, minor] = [FIRST_NODE.0.to_string(), (FIRST_NODE.1 + index).to_string()];
        let node = format!("{VERBS}/uverbs{index}");
        self.put(&format!("{node}/ibdev"), &format!("fairlane{index}"))?;
        self.put(&format!("{node}/abi_version"), ABI_VERSIONS.1)?;
        self.put(&format!("{node}/dev"), &format!("{major}:{minor}"))?;
        self.link(&format!("uverbs{index}"))?;
        let own = format!("{DEVICES}/fairlane{index}");
        let guid = groups(&gid::guid(device.address));
        for (name, text) in [
            ("node_type", "1: CA"),
            ("node_guid", &guid),
            ("sys_image_guid", &guid),
            ("node_desc", &format!("fairlane{index}")),
            ("fw_ver", concat!("fairlane ", env!("CARGO_PKG_VERSION"))),
            ("hca_type", "fairlane"),
            ("hw_rev", "0x0"),
        ] {
            self.put(&format!("{own}/{name}"), text)?;
        }
        self.port(&format!("{own}/ports/1"), device, settings)
    }

    fn port(&self, port: &str, device: &Choice, settings: &Settings) -> io::Result<()> {
        let rate = PortSpeed::of(settings.line_rate).to_string();
        for (name, text) in [
            // As `ibv_query_port` says.
            ("rate", rate.as_str()),
            ("cap_mask", "0x04010000"),
            ("link_layer", "Ethernet"),
            ("lid", "0x0"),
            ("lid_mask_count", "0"),
            ("sm_lid", "0x0"),
            ("sm_sl", "0"),
        ] {
            self.put(&format!("{port}/{name}"), text)?;
        }
        let keys = settings.partitions();
        for (slot, key) in keys.iter().enumerate() {
            self.put(
                &format!("{port}/pkeys/{slot}"),
                &format!("{:#06x}", key.get()),
            )?;
        }
        let left = |slot: &usize| fs::remove_file(self.0.join(format!("{port}/pkeys/{slot}")));
        (keys.len()..)
            .take_while(|slot| left(slot).is_ok())
            .for_each(drop);
        self.put_state(port, device.interface.is_up)?;
        for slot in 0..gid::SLOTS {
            let known = gid::at(device.address, slot);
            let gid = known.unwrap_or(Ipv6Addr::UNSPECIFIED);
            self.put(&format!("{port}/gids/{slot}"), &groups(&gid.octets()))?;
            for (attribute, text) in [("types", "RoCE v2"), ("ndevs", &device.interface.name)] {
                let file = format!("{port}/gid_attrs/{attribute}/{slot}");
                match known {
                    Some(_) => self.put(&file, text)?,
                    // A kernel refuses to read it.
                    None => drop(fs::remove_file(self.0.join(file))),
                }
            }
        }
        for (file, _) in counters(&Counters::default()) {
            let path = self.0.join(port).join(&file);
            if !path.exists() {
                self.put(&format!("{port}/{file}"), "0")?;
            }
        }
        Ok(())
    }

    /// Forgets a device; false if there is none.
    fn remove(&self, index: usize) -> bool {
        let node = self.0.join(NODES).join(format!("uverbs{index}"));
        drop(fs::remove_file(node));
        drop(fs::remove_dir_all(
            self.0.join(VERBS).join(format!("uverbs{index}")),
        ));
        let device = self.0.join(DEVICES).join(format!("fairlane{index}"));
        fs::remove_dir_all(device).is_ok()
    }

    /// What devices of a name have counted is so much more, and this is how its port is.
    fn count(&self, device: &str, more: &Counters, is_up: bool) -> io::Result<()> {
        let port = format!("{DEVICES}/{device}/ports/1");
        let _turn = self.turn()?;
        // One that isn't listed any more has no files.
        fs::metadata(self.0.join(&port))?;
        self.put_state(&port, is_up)?;
        for (file, more) in counters(more).filter(|(_, more)| *more > 0) {
            let path = self.0.join(&port).join(file);
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            let mut text = String::new();
            (&file).read_to_string(&mut text)?;
            // A file that somebody has altered begins again.
            let before: u64 = text.trim().parse().unwrap_or(0);
            overwrite(&file, &before.wrapping_add(more).to_string())?;
        }
        Ok(())
    }

    fn put_state(&self, port: &str, is_up: bool) -> io::Result<()> {
        let (state, physical) = match is_up {
            true => ("4: ACTIVE", "5: LinkUp"),
            false => ("1: DOWN", "3: Disabled"),
        };
        self.put(&format!("{port}/state"), state)?;
        self.put(&format!("{port}/phys_state"), physical)
    }

    /// Waits until no other process writes, but not for one that has been stopped, as by a debugger.
    fn turn(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true);
        let file = file.open(self.0.join("lock"))?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(AGAIN);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes a file if it is not as it should be: who reads it at the moment finds the old or the new text.
    fn put(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.0.join(file);
        if fs::read_to_string(&path).is_ok_and(|old| old.trim_end() == text) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        overwrite(&file, text)
    }

    fn link(&self, name: &str) -> io::Result<()> {
        match symlink("/dev/null", self.0.join(NODES).join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }
}

/// Writes a line into a file that keeps its place, so that programs which have it open go on reading it.
fn overwrite(file: &File, text: &str) -> io::Result<()> {
    let line = format!("{text}\n");
    file.write_all_at(line.as_bytes(), 0)?;
    file.set_len(line.len() as u64)
}

/// Files of a port for counters, and their values.
fn counters(all: &Counters) -> impl Iterator<Item = (String, u64)> {
    let named: Vec<(&str, u64)> = all.named().collect();
    let value = |name: &str| named.iter().find(|own| own.0 == name).map(|own| own.1);
    let of_port: Vec<_> = OF_PORT
        .iter()
        .filter_map(|(file, name)| Some((format!("counters/{file}"), value(name)?)))
        .collect();
    // Of the same name only one: bytes and ends of links are the port's.
    let is_same = |name| OF_PORT.contains(&(name, name));
    let others = named.into_iter().filter(move |own| !is_same(own.0));
    let others = others.map(|(name, value)| (format!("hw_counters/{name}"), value));
    of_port.into_iter().chain(others)
}

/// Bytes in groups of two, as sysfs has GUIDs and GIDs.
fn groups(bytes: &[u8]) -> String {
    let group = |pair: &[u8]| pair.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes
        .chunks(2)
        .map(group)
        .collect::<Vec<String>>()
        .join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(address: &str) -> Choice {
        let interface = crate::Interface::of([127, 0, 0, 1].into()).expect("loopback is there");
        Choice {
            address: address.parse().expect("an address"),
            interface,
            why: "",
        }
    }

    fn usual() -> Settings {
        Settings::new([127, 0, 0, 1].into())
    }

    #[test]
    fn files_have_the_form_of_the_kernel() {
        let folder = Folder::new("form");
        let mut settings = usual();
        let line = "line_rate=25Gbps tenants=0x8001:3,0x8002:1";
        settings.set(line).expect("words that there are");
        let tree = Tree::new(&folder.0);
        let (first, second) = (choice("127.3.2.1"), choice("fd00::17"));
        tree.list(&[first, second], &settings)
            .expect("it is written");
        let read = |file: &str| {
            let text = fs::read_to_string(folder.0.join("sys/class").join(file));
            text.unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        for (file, text) in [
            ("infiniband_verbs/uverbs1/ibdev", "fairlane1\n"),
            ("infiniband_verbs/uverbs1/dev", "231:193\n"),
            ("infiniband/fairlane0/node_guid", "0200:5efe:7f03:0201\n"),
            ("infiniband/fairlane0/ports/1/state", "4: ACTIVE\n"),
            ("infiniband/fairlane0/ports/1/rate", "25 Gb/sec (1X EDR)\n"),
            ("infiniband/fairlane0/ports/1/pkeys/0", "0xffff\n"),
            ("infiniband/fairlane0/ports/1/pkeys/2", "0x8002\n"),
            (
                "infiniband/fairlane0/ports/1/gids/1",
                "0000:0000:0000:0000:0000:ffff:7f03:0201\n",
            ),
            (
                "infiniband/fairlane1/ports/1/gids/0",
                "fd00:0000:0000:0000:0000:0000:0000:0017\n",
            ),
            (
                "infiniband/fairlane1/ports/1/gids/15",
                "0000:0000:0000:0000:0000:0000:0000:0000\n",
            ),
            (
                "infiniband/fairlane1/ports/1/gid_attrs/types/0",
                "RoCE v2\n",
            ),
            ("infiniband/fairlane1/ports/1/gid_attrs/ndevs/0", "lo\n"),
        ] {
            assert_eq!(read(file), text, "{file}");
        }
        let node = folder.0.join("dev/infiniband/uverbs1");
        assert_eq!(fs::read_link(&node).ok(), Some("/dev/null".into()));
        // One that has gone isn't there any more, and an address that isn't of IPv4 any more has one GID.
        tree.list(&[choice("fd00::18")], &usual())
            .expect("it is written");
        assert!(fs::symlink_metadata(&node).is_err());
        let second = folder.0.join("sys/class/infiniband/fairlane1");
        let types = folder
            .0
            .join(DEVICES)
            .join("fairlane0/ports/1/gid_attrs/types/1");
        assert!(!second.exists() && !types.exists());
        assert_eq!(
            read("infiniband/fairlane0/ports/1/rate"),
            "100 Gb/sec (4X EDR)\n"
        );
        let keys = folder.0.join(DEVICES).join("fairlane0/ports/1/pkeys");
        assert!(keys.join("0").exists() && !keys.join("1").exists());
    }

    #[test]
    fn counters_of_several_processes_add_up() {
        let folder = Folder::new("counters");
        let tree = Tree::new(&folder.0);
        let device = [choice("127.3.2.1")];
        tree.list(&device, &usual()).expect("it is written");
        let more = Counters {
            port_xmit_data: 30,
            sent_pkts: 2,
            rdma_sends: 9,
            ..Counters::default()
        };
        let add = || (0..100).for_each(|_| tree.count("fairlane0", &more, true).expect("it can"));
        std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(add))));
        tree.list(&device, &usual()).expect("it is written");
        let port = folder.0.join(DEVICES).join("fairlane0/ports/1");
        for (file, value) in [
            ("counters/port_xmit_data", "6000\n"),
            ("counters/port_xmit_packets", "400\n"),
            ("hw_counters/sent_pkts", "400\n"),
            ("hw_counters/rdma_sends", "1800\n"),
            ("hw_counters/cq_overrun", "0\n"),
        ] {
            let text = fs::read_to_string(port.join(file)).ok();
            assert_eq!(text.as_deref(), Some(value), "{file}");
        }
        assert!(!port.join("hw_counters/port_xmit_data").exists());
        assert!(tree.count("fairlane7", &more, true).is_err());
        assert!(!folder.0.join(DEVICES).join("fairlane7").exists());
    }

    #[test]
    fn nobody_waits_for_ever_for_a_process_that_has_been_stopped() {
        let folder = Folder::new("stopped");
        let tree = Tree::new(&folder.0);
        let device = [choice("127.3.2.1")];
        tree.list(&device, &usual()).expect("it is written");
        let held = tree.turn().expect("nobody has it");
        let error = tree.list(&device, &usual()).map_err(|error| error.kind());
        assert_eq!(error, Err(io::ErrorKind::WouldBlock));
        drop(held);
        tree.list(&device, &usual()).expect("it is written");
    }

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("fairlane-sysfs-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }
}
