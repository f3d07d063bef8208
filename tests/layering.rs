//! Each crate uses only the layers below its own, and keeps what its layer promises.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{assert_none, list, metadata, output, read, root, text};
use serde_json::Value;

/// The crates of each layer, from the lowest. A crate may use those of lower layers, never its own.
const LAYERS: [&[&str]; 9] = [
    &["units", "rings", "shared-object", "sysfs-preload"],
    &[
        "wire",
        "congestion",
        "multipath",
        "program",
        "drum",
        "engine",
        "verbs-abi",
        "hpcc-files",
    ],
    &[
        "transport",
        "cm",
        "threads",
        "baselines",
        "explain",
        "traces",
    ],
    &["nic", "middleware", "drum-file", "scenario"],
    &["network", "cases"],
    &["fabric", "softnic", "harness"],
    &[
        "attacks", "results", "lab", "verbs", "rdmacm", "mpverbs", "agent",
    ],
    &["experiments"],
    &["cli", "python"],
];

/// Simulated and real world meet only in the tests, in `lab`, and in the highest layer.
const SIMULATED: [&str; 4] = ["engine", "network", "fabric", "attacks"];
const REAL: [&str; 5] = ["softnic", "verbs", "rdmacm", "mpverbs", "agent"];

/// Crates that drive links and switches: others see them through these.
const DRIVERS_OF_NETWORK: [&str; 1] = ["fabric"];

/// Crates that talk to the operating system or to C, and may hold `unsafe` code.
const MAY_BE_UNSAFE: [&str; 8] = [
    "rings",
    "softnic",
    "verbs",
    "rdmacm",
    "sysfs-preload",
    "mpverbs",
    "agent",
    "python",
];

/// Crates without operating system: no clock, no threads, no randomly seeded hash maps, no libm of
/// the platform.
const NO_STD: [&str; 11] = [
    "units",
    "wire",
    "congestion",
    "multipath",
    "program",
    "drum",
    "engine",
    "transport",
    "cm",
    "nic",
    "middleware",
];

/// Members beside the product.
const BESIDE: [&str; 2] = ["tests", "benches"];

const PREFIX: &str = "fairlane-";

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

fn short(package: &Value) -> &str {
    let name = text(package, "name");
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The crates of the product by name.
fn product() -> BTreeMap<String, Value> {
    let members = metadata(&["--no-deps"]);
    let crates = list(&members, "packages")
        .iter()
        .filter(|p| !BESIDE.contains(&short(p)));
    crates
        .map(|package| (short(package).to_owned(), package.clone()))
        .collect()
}

/// Other crates of the workspace that a crate uses, for whatever purpose. Tests may use their own
/// crate with more features.
fn uses(package: &Value) -> impl Iterator<Item = &str> {
    let names = list(package, "dependencies")
        .iter()
        .map(|dependency| text(dependency, "name"))
        .filter(|&name| name != text(package, "name"));
    names.filter_map(|name| name.strip_prefix(PREFIX))
}

fn complaint(name: &str, used: &str) -> Option<String> {
    let (Some(own), Some(other)) = (layer(name), layer(used)) else {
        return Some(format!("{name} or {used} is in no layer: add it to LAYERS"));
    };
    let crosses = |from: &[&str], to: &[&str]| from.contains(&name) && to.contains(&used);
    if other >= own {
        Some(format!("{name} (layer {own}) uses {used} (layer {other})"))
    } else if crosses(&SIMULATED, &REAL) || crosses(&REAL, &SIMULATED) {
        Some(format!(
            "{name} uses {used}: simulated and real world don't know each other"
        ))
    } else if used == "network" && !DRIVERS_OF_NETWORK.contains(&name) {
        Some(format!("{name} uses {used}, which `fabric` drives"))
    } else {
        None
    }
}

#[test]
fn crates_use_only_lower_layers() {
    let crates = product();
    assert!(crates.len() >= 7, "found only {:?}", crates.keys());
    let complaints: Vec<String> = crates
        .iter()
        .flat_map(|(name, package)| {
            // A crate's tests may ask for a feature of the crate itself.
            let others = uses(package).filter(move |used| used != name);
            others.filter_map(|used| complaint(name, used))
        })
        .collect();
    assert_none(&complaints);
}

#[test]
fn a_wrong_arrow_is_found() {
    for (name, used) in [
        ("units", "engine"),
        ("engine", "congestion"),
        ("fabric", "softnic"),
        ("attacks", "network"),
    ] {
        assert!(complaint(name, used).is_some(), "{name} -> {used}");
    }
    for (name, used) in [
        ("verbs", "fabric"),
        ("attacks", "engine"),
        ("fabric", "unheard-of"),
    ] {
        let allowed = name == "attacks";
        assert_eq!(complaint(name, used).is_none(), allowed, "{name} -> {used}");
    }
}

#[test]
fn folder_and_package_have_one_name() {
    for (name, package) in product() {
        assert_eq!(text(&package, "name"), format!("{PREFIX}{name}"));
        // Python's build wants the package beside the crates, where its sources in Python are.
        let beside = if name == "python" {
            root()
        } else {
            root().join("crates")
        };
        let manifest = beside.join(&name).join("Cargo.toml");
        assert_eq!(
            text(&package, "manifest_path"),
            manifest.display().to_string()
        );
        assert!(
            layer(&name).is_some(),
            "{name} is in no layer: add it to LAYERS"
        );
    }
}

/// Paths of the files in which the libraries and programs of a crate begin.
fn crate_roots(package: &Value) -> impl Iterator<Item = &str> {
    let product = |target: &&Value| {
        let kinds = list(target, "kind").iter().filter_map(Value::as_str);
        kinds
            .into_iter()
            .any(|kind| kind == "bin" || kind.ends_with("lib"))
    };
    list(package, "targets")
        .iter()
        .filter(product)
        .map(|target| text(target, "src_path"))
}

#[test]
fn unsafe_code_is_forbidden_where_nothing_needs_it() {
    let mut complaints = Vec::new();
    for (name, package) in product()
        .iter()
        .filter(|(name, _)| !MAY_BE_UNSAFE.contains(&&***name))
    {
        for path in crate_roots(package) {
            if !has_attribute(&read(path), "#![forbid(unsafe_code)]") {
                complaints.push(format!("{name}: {path} lacks #![forbid(unsafe_code)]"));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn the_core_has_no_operating_system() {
    let mut complaints = Vec::new();
    for (name, package) in product()
        .iter()
        .filter(|(name, _)| NO_STD.contains(&&***name))
    {
        for path in crate_roots(package) {
            let source = read(path);
            if !has_attribute(&source, "#![no_std]") || source.contains("extern crate std") {
                complaints.push(format!("{name}: {path} isn't #![no_std]"));
            }
        }
    }
    assert_none(&complaints);
}

fn has_attribute(source: &str, attribute: &str) -> bool {
    source.lines().any(|line| line.trim() == attribute)
}

/// Packages of a part of the workspace with the features that they are compiled with there.
fn compiled(part: &[&str]) -> BTreeSet<String> {
    let fixed = ["tree", "--locked", "--prefix", "none", "--no-dedupe"];
    let format = ["--format", "{p} {f}"];
    let listed = output(env!("CARGO"), &[&fixed[..], &format, part].concat());
    listed.lines().map(str::to_owned).collect()
}

/// `make test` builds both.
#[test]
fn what_python_and_the_tests_need_is_compiled_once() {
    let python = compiled(&["--package", "fairlane-python", "--edges", "normal,build"]);
    let tests = compiled(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(python.len() > 50, "{python:?}");
    let twice = python.difference(&tests).map(|package| {
        format!(
            "{package}: other features in the tests: ask for the same ones in python/Cargo.toml"
        )
    });
    assert_none(&twice.collect::<Vec<_>>());
}

/// `make run` builds the command; who wants Python, too, builds on that.
#[test]
fn what_python_and_the_command_need_is_compiled_once() {
    let python = compiled(&["--package", "fairlane-python", "--edges", "normal,build"]);
    let command = compiled(&["--package", "fairlane-cli", "--edges", "normal,build"]);
    let package = |line: &String| line.split(' ').take(2).map(str::to_owned).collect();
    let packages =
        |lines: &BTreeSet<String>| -> BTreeSet<Vec<String>> { lines.iter().map(package).collect() };
    let (of_python, of_command) = (packages(&python), packages(&command));
    assert!(of_python.intersection(&of_command).count() > 50);
    let twice = python.symmetric_difference(&command);
    let twice = twice.filter(|line| {
        let package: Vec<String> = package(line);
        of_python.contains(&package) && of_command.contains(&package)
    });
    let twice = twice.map(|line| {
        format!("{line}: other features there: ask for the same ones in crates/cli/Cargo.toml")
    });
    assert_none(&twice.collect::<Vec<_>>());
}
