//! `fairlane exec`: programs that start programs, fork, or look for libraries elsewhere.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::setup::{alone, compile, fairlane, has, library};

const HEADER: (&str, &str) = ("infiniband/verbs.h", "libibverbs-dev");

/// Runs a program under `fairlane exec` with these options.
fn exec(options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new(fairlane());
    command.arg("exec").args(options).arg("--").args(program);
    command.env("FAIRLANE_VERBS", library());
    command.env_remove("FAIRLANE_ADDRESS");
    command.output().expect("it can be started")
}

/// Lines on standard output, which there are if it has succeeded.
fn lines(output: &Output) -> Vec<String> {
    let [data, talk] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{data}{talk}");
    data.lines().map(str::to_owned).collect()
}

fn devices(made: &str, flags: &[&str]) -> Option<PathBuf> {
    compile("devices", made, HEADER, &[flags, &["-libverbs"]].concat())
}

/// Addresses of `devices`' lines; each process has one device, which it could open.
fn addresses(lines: &[String]) -> BTreeSet<String> {
    let address = |line: &String| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, "1", gid] if gid != "-" => gid.to_owned(),
        _ => panic!("{line}"),
    };
    lines.iter().map(address).collect()
}

#[test]
fn each_process_of_a_tree_has_an_address_of_its_own() {
    let Some(program) = devices("devices", &[]) else {
        return;
    };
    let _alone = alone();
    let each = program.display().to_string();
    let eight = "for number in 1 2 3 4; do $0 fork & done; wait";
    let found = lines(&exec(&[], &["sh", "-c", eight, &each]));
    assert_eq!((found.len(), addresses(&found).len()), (8, 8), "{found:?}");
    let named = lines(&exec(&["--address", "127.77.0.30"], &[&each]));
    assert_eq!(named, ["parent 1 ::ffff:127.77.0.30"]);
}

#[test]
fn without_interfaces_it_is_said_what_is_needed() {
    if !has("ibv_devices", "ibverbs-utils") || !has("unshare", "util-linux") {
        return;
    }
    let _alone = alone();
    let mut command = Command::new("unshare");
    // A new network namespace has a loopback interface that is down.
    command.args(["-n", "ibv_devices"]);
    command.env("LD_LIBRARY_PATH", library());
    command.env_remove("FAIRLANE_ADDRESS");
    let output = command.output().expect("it has been found");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare failed") {
        println!("skipped: no network namespaces: {}", said.trim());
        return;
    }
    assert!(said.contains("no interface is up"), "{said}");
    assert!(said.contains("hint: `ip link set lo up`"), "{said}");
}

#[test]
fn a_shell_starts_a_server_and_its_client() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let both = "ib_write_bw -n 100 >/dev/null & \
                until ib_write_bw -n 100 localhost; do sleep 0.1; done && wait $!";
    let found = lines(&exec(&[], &["sh", "-c", both]));
    assert!(
        found
            .iter()
            .any(|line| line.trim_start().starts_with("65536 "))
    );
}

#[test]
fn programs_that_look_for_libraries_elsewhere_are_told_apart() {
    let asked = Command::new("cc")
        .arg("-print-file-name=libibverbs.so.1")
        .output();
    let system = asked.map(|output| {
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    });
    let system = system.map(PathBuf::from).unwrap_or_default();
    let Some(folder) = system.parent().filter(|_| system.is_absolute()) else {
        println!("skipped: there is no libibverbs.so.1 (Debian: apt-get install libibverbs-dev)");
        return;
    };
    let path = format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display());
    let Some(program) = devices("devices-rpath", &[&path]) else {
        return;
    };
    let _alone = alone();
    let program = program.display().to_string();
    let without = exec(&[], &[&program]);
    let said = String::from_utf8_lossy(&without.stderr);
    assert!(
        said.contains("(DT_RPATH)") && said.contains("hint: `fairlane exec --preload`"),
        "{said}"
    );
    // Also beside the library that shows folders of devices.
    let with = exec(&["--preload", "--sysfs", "preload"], &[&program]);
    let said = String::from_utf8_lossy(&with.stderr);
    assert!(!said.contains("DT_RPATH"), "{said}");
    assert_eq!(addresses(&lines(&with)).len(), 1);
}
