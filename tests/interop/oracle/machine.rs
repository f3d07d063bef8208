//! The oracle: a virtual machine whose kernel has Soft-RoCE, at the other end of a tap in a network namespace of its own.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::pair::finish;
use crate::setup::{at, has, root};

/// Where our device is: the host's end of the tap.
pub(super) const OURS: &str = "10.77.0.1";
/// Where the kernel's is.
pub(super) const THEIRS: &str = "10.77.0.2";
/// The port of the guest's shell.
const SHELL: &str = "2000";
/// The guest's processor is emulated: a start takes some 7 s, on a busy machine more.
const BOOT: Duration = Duration::from_secs(90);
/// How often the guest is asked.
const ATTEMPTS: usize = 3;
/// Stands before the exit status of what has run in the guest.
const ENDED: &str = "oracle: status ";

/// Makes a tap and starts the machine at it. Its process ends when standard input does, so that it outlives nobody who holds the
/// other end; the namespace ends with it.
const START: &str = r#"
set -e
ip link set lo up
ip tuntap add tap0 mode tap
ip address add "$OURS/24" dev tap0
ip link set tap0 mtu 4500 txqueuelen 1000 up
exec 3<&0
{ cat <&3; kill $$; } >/dev/null 2>&1 &
exec qemu-system-x86_64 -machine q35,accel=tcg -cpu max -m 1024 -nodefaults -nographic -no-reboot \
    -serial file:console -kernel vmlinuz -initrd initramfs \
    -append "console=ttyS0 panic=-1 quiet oracle_address=$THEIRS/24 oracle_mtu=4500 oracle_port=$SHELL" \
    -netdev tap,id=net,ifname=tap0,script=no,downscript=no,vnet_hdr=off \
    -device virtio-net-pci,netdev=net,host_mtu=4500,romfile= \
    -object filter-dump,id=dump,netdev=net,file=capture.pcap \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap 3<&-
"#;

/// The running machine.
#[derive(Debug)]
pub(super) struct Machine {
    qemu: Child,
    folder: PathBuf,
}

/// The machine, which starts the first time; `None`, and a line why, where it can't be had.
pub(super) fn machine() -> Option<&'static Machine> {
    static MACHINE: OnceLock<Option<Machine>> = OnceLock::new();
    MACHINE.get_or_init(start).as_ref()
}

fn start() -> Option<Machine> {
    let programs = [
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("busybox", "busybox-static"),
        ("python3", "python3"),
        ("rdma", "iproute2"),
        ("unshare", "util-linux"),
    ];
    if !programs.iter().all(|(name, package)| has(name, package)) || !may_have_a_tap() {
        return None;
    }
    let folder = image()?;
    for old in ["console", "capture.pcap"] {
        // The first time there is none.
        let _ = std::fs::remove_file(folder.join(old));
    }
    let mut shell = Command::new("unshare");
    shell
        .args(["-n", "sh", "-c", START])
        .env("OURS", OURS)
        .env("THEIRS", THEIRS)
        .env("SHELL", SHELL)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let errors = File::create(folder.join("errors")).expect("target can be written");
    let qemu = shell.stderr(errors).spawn().expect("it has been found");
    let mut machine = Machine { qemu, folder };
    machine.wait_until_ready();
    Some(machine)
}

fn may_have_a_tap() -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root || !Path::new("/dev/net/tun").exists() {
        println!("skipped: a tap needs root and /dev/net/tun");
        return false;
    }
    let mut attempt = Command::new("unshare");
    let attempt = attempt.args(["-n", "ip", "tuntap", "add", "tap0", "mode", "tap"]);
    let output = attempt.output().expect("it has been found");
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        println!("skipped: no tap in a network namespace: {}", said.trim());
    }
    output.status.success()
}

/// The folder with what the machine boots, which is made the first time.
fn image() -> Option<PathBuf> {
    let folder = root().join("target/interop/oracle");
    let mut script = Command::new("python3");
    let script = script
        .arg(root().join("tests/interop/oracle/image.py"))
        .arg(&folder);
    let output = script.output().expect("it has been found");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.code() == Some(3) {
        println!("skipped: {}", said(&output.stdout));
        return None;
    }
    assert!(output.status.success(), "{}", said(&output.stderr));
    Some(folder)
}

impl Machine {
    fn wait_until_ready(&mut self) {
        let until = Instant::now() + BOOT;
        let read = |name: &str| std::fs::read(self.folder.join(name)).unwrap_or_default();
        let read = |name| String::from_utf8_lossy(&read(name)).into_owned();
        while !read("console").contains("oracle: ready") {
            let ended = self.qemu.try_wait().expect("it is a child");
            if ended.is_some() || Instant::now() > until {
                panic!(
                    "the oracle doesn't start ({ended:?}): {}{}",
                    read("console"),
                    read("errors")
                );
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// The capture of all frames at the tap.
    pub(super) fn capture(&self) -> PathBuf {
        self.folder.join("capture.pcap")
    }

    /// A file for what a test finds.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A command in the namespace of the tap, on our device.
    pub(super) fn here(&self, arguments: &[&str]) -> Command {
        let mut command = at(OURS, "nsenter");
        command
            .args(["-t", &self.qemu.id().to_string(), "-n", "--"])
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// Starts a command line in the guest, with the kernel's device. [`Machine::ended`] knows how it ends.
    pub(super) fn start_there(&self, command_line: &str, limit: Duration) -> Child {
        use std::io::Write as _;
        let seconds = limit.as_secs();
        let script = format!(
            "exec 2>&1; cd /dev/shm; timeout {seconds} {command_line} </dev/null; echo \"{ENDED}$?\"; exit\n"
        );
        let mut shell = Command::new("nsenter");
        shell
            .args(["-t", &self.qemu.id().to_string(), "-n", "--"])
            .args(["busybox", "nc", THEIRS, SHELL])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut shell = shell.spawn().expect("it has been found");
        let mut input = shell.stdin.take().expect("it is a pipe");
        input
            .write_all(script.as_bytes())
            .expect("the guest listens");
        shell
    }

    /// Repeats a command line in the guest until it succeeds.
    pub(super) fn wait_until_there(&self, command_line: &str) {
        self.there(&format!(
            "sh -c \"until {command_line}; do sleep 0.05; done\""
        ));
    }

    /// What a command has said that must succeed in the guest, and that changes nothing there: an emulated machine on a busy one
    /// may leave a connection unanswered, so that it is asked again.
    #[track_caller]
    pub(super) fn there(&self, command_line: &str) -> String {
        let limit = Duration::from_secs(20);
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            let shell = self.start_there(command_line, limit);
            let shell = finish(shell, Instant::now() + 2 * limit);
            match ended(&shell) {
                (Some(0), said) => return said,
                (status, said) => {
                    let errors = String::from_utf8_lossy(&shell.stderr).into_owned();
                    failures.push(format!("{status:?}, nc {}: {said}{errors}", shell.status));
                }
            }
        }
        let console = std::fs::read(self.folder.join("console")).unwrap_or_default();
        let console = String::from_utf8_lossy(&console).into_owned();
        panic!("{command_line}: {}\n{console}", failures.join("\n"));
    }
}

/// The exit status of a command that ran in the guest, and what it said.
pub(super) fn ended(shell: &Output) -> (Option<i32>, String) {
    let said = String::from_utf8_lossy(&shell.stdout).into_owned();
    match said.rsplit_once(ENDED) {
        Some((said, status)) => (status.trim().parse().ok(), said.to_owned()),
        None => (None, said),
    }
}
