//! What programs find in `/sys/class/infiniband`, `/sys/class/infiniband_verbs` and `/dev/infiniband` under `fairlane exec`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::setup::{alone, fairlane, has, library, root};

const ADDRESS: &str = "127.77.0.31";
/// Ways to show folders; the first needs a mount namespace.
const WAYS: [&str; 2] = ["namespace", "preload"];

/// Runs a script under `fairlane exec` in a way; `before` are words in front of the command, if any.
fn exec(before: &[&str], way: &str, script: &str) -> Output {
    let fairlane = fairlane().display().to_string();
    let rest = [
        &fairlane,
        "exec",
        "--sysfs",
        way,
        "--address",
        ADDRESS,
        "--",
        "sh",
        "-c",
        script,
    ];
    let all = [before, &rest].concat();
    let mut command = Command::new(all[0]);
    command
        .args(&all[1..])
        .env("FAIRLANE_VERBS", library())
        .env_remove("FAIRLANE_ADDRESS")
        .env_remove("FAIRLANE_SYSFS")
        .env("XDG_RUNTIME_DIR", runtime());
    command.output().expect("it can be started")
}

/// A folder for trees of this test alone, which a user of any number may write.
fn runtime() -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = root().join("target/interop/sysfs");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let all = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(&folder, all).expect("it is our own");
    folder
}

/// What a script says in a way; nothing, and a line, where the kernel allows no mount namespace.
fn said(before: &[&str], way: &str, script: &str) -> Option<String> {
    let output = exec(before, way, script);
    let talk = String::from_utf8_lossy(&output.stderr);
    if way == "namespace" && talk.contains("--sysfs: new namespaces") {
        println!("skipped: {}", talk.lines().next().unwrap_or_default());
        return None;
    }
    assert!(output.status.success(), "{way}: {script}: {talk}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn folders_look_like_those_of_a_kernel() {
    let _alone = alone();
    let script = "cd / && ls /sys/class/infiniband /sys/class/infiniband_verbs \
        && test -c /dev/infiniband/uverbs0 && test -r /dev/infiniband/uverbs0 && test -w /dev/infiniband/rdma_cm \
        && cat /sys/class/infiniband/fairlane0/ports/1/gids/1 /sys/class/infiniband/fairlane0/ports/1/gid_attrs/types/1 \
               /sys/class/infiniband_verbs/uverbs0/ibdev \
        && ! cat /sys/class/infiniband/fairlane0/ports/1/gid_attrs/types/2 2>/dev/null";
    let expected = "/sys/class/infiniband:\nfairlane0\n\n/sys/class/infiniband_verbs:\nabi_version\nuverbs0\n\
        0000:0000:0000:0000:0000:ffff:7f4d:001f\nRoCE v2\nfairlane0\n";
    for way in WAYS {
        if let Some(found) = said(&[], way, script) {
            assert_eq!(found, expected, "{way}");
        }
    }
    let none = exec(&[], "none", "ls /dev/infiniband/uverbs0");
    let kernel = PathBuf::from("/dev/infiniband/uverbs0").exists();
    assert_eq!(none.status.success(), kernel);
}

#[test]
fn nothing_else_changes() {
    let _alone = alone();
    let script = "id; for place in /sys/class /dev; do ls -1 $place; done; stat -L -c '%n %F %t:%T %A' /dev/null /dev/fd /dev/shm; \
        touch $0 && stat -c '%u %g' $0; rm $0";
    let file = runtime().join("touched").display().to_string();
    let script = script.replace("$0", &file);
    let mut users: Vec<&[&str]> = vec![&[]];
    let other = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    if may_change_user() {
        users.push(&other);
    }
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    for user in users {
        let plain = said(user, "none", &script).map(|text| lines(&text));
        let shown = said(user, "namespace", &script).map(|text| lines(&text));
        let (Some(plain), Some(shown)) = (plain, shown) else {
            continue;
        };
        let more: Vec<&String> = shown.difference(&plain).collect();
        let new = ["infiniband", "infiniband_verbs"];
        assert!(
            more.iter().all(|line| new.contains(&line.as_str())),
            "{more:?}"
        );
        let less: Vec<&String> = plain.difference(&shown).collect();
        assert!(less.is_empty(), "{less:?}");
    }
}

/// Whether programs can run as another user here, and reach the repository as that.
fn may_change_user() -> bool {
    let mut trial = Command::new("setpriv");
    trial.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "test",
        "-x",
    ]);
    let may = trial
        .arg(fairlane())
        .status()
        .is_ok_and(|status| status.success());
    if !may {
        println!(
            "skipped: another user than root: setpriv can't, or the repository is not for all to read"
        );
    }
    may
}

#[test]
fn counters_are_those_of_all_processes_at_the_device() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    // 200 messages of 64 KiB to itself: a process that has its own address as peer.
    let script = "read_all() { cat /sys/class/infiniband/fairlane0/ports/1/counters/$1; }; \
        before=$(read_all port_xmit_data); \
        for turn in 1 2; do \
            ib_write_bw -n 100 >/dev/null 2>&1 & server=$!; sleep 0.3; \
            FAIRLANE_ADDRESS=127.77.0.32 ib_write_bw -n 100 127.0.0.1 >/dev/null 2>&1 || exit 1; \
            wait $server || exit 1; \
        done; \
        echo $(($(read_all port_xmit_data) - before))";
    for way in WAYS {
        let Some(found) = said(&[], way, script) else {
            continue;
        };
        let words: u64 = found.trim().parse().expect("a number");
        // Both have the tree, so that payload, with headers of at most a tenth, and acknowledgements are there.
        let payload = 2 * 100 * 65_536 / 4;
        assert!(
            (payload..payload * 12 / 10).contains(&words),
            "{way}: {words} of {payload}"
        );
    }
}

#[test]
fn folders_follow_addresses_of_interfaces() {
    if !has("ibv_devices", "ibverbs-utils") || !has("ip", "iproute2") {
        return;
    }
    let _alone = alone();
    // Without loopback, devices are at addresses of interfaces.
    let interfaces = "ip link add name left type veth peer name right && ip link set left up && ip link set right up \
        && ip address add 10.79.0.1/24 dev left \
        && until ip -brief link show left | grep -q ' UP ' && ip -brief link show right | grep -q ' UP '; do sleep 0.01; done \
        && exec \"$@\"";
    let before = ["unshare", "-n", "sh", "-c", interfaces, "sh"];
    let script = "devices() { ibv_devices >/dev/null && ls /sys/class/infiniband; }; \
        devices && ip address add 10.79.1.1/24 dev right && devices \
        && cat /sys/class/infiniband/fairlane?/ports/1/gid_attrs/ndevs/1 | sort \
        && ip address delete 10.79.1.1/24 dev right && devices";
    let fairlane = fairlane().display().to_string();
    let mut command = Command::new(before[0]);
    command
        .args(&before[1..])
        .args([&fairlane, "exec", "--", "sh", "-c", script]);
    command
        .env("FAIRLANE_VERBS", library())
        .env("XDG_RUNTIME_DIR", runtime());
    command
        .env_remove("FAIRLANE_ADDRESS")
        .env_remove("FAIRLANE_SYSFS");
    let output = command.output().expect("it can be started");
    let talk = String::from_utf8_lossy(&output.stderr);
    if talk.contains("unshare failed") {
        println!("skipped: {talk}");
        return;
    }
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        found, "fairlane0\nfairlane0\nfairlane1\nleft\nright\nfairlane0\n",
        "{talk}"
    );
}

#[test]
fn a_tree_that_cannot_be_written_is_told_apart() {
    let _alone = alone();
    // Where the folder of this user would be is a file.
    let folder = root().join("target/interop/sysfs-file");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let user = Command::new("id").arg("-u").output().expect("there is id");
    let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
    std::fs::write(folder.join(format!("fairlane-{user}")), "").expect("it can be written");
    for (way, code, sign) in [("preload", 2, "error: --sysfs: "), ("auto", 0, "warning: ")] {
        let mut command = Command::new(fairlane());
        command.args(["exec", "--sysfs", way, "--address", ADDRESS, "--", "true"]);
        command.env("FAIRLANE_VERBS", library());
        command.env("XDG_RUNTIME_DIR", &folder);
        command.env_remove("FAIRLANE_SYSFS");
        let output = command.output().expect("it can be started");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{talk}");
        let told = [sign, "is no folder of this user's", "hint: "];
        assert!(told.iter().all(|part| talk.contains(part)), "{talk}");
    }
}
