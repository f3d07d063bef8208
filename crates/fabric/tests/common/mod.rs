//! Helpers of the tests.
#![allow(
    unreachable_pub,
    clippy::print_stdout,
    reason = "helpers are those of a crate, and say why a test is skipped"
)]

pub mod random;

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fairlane_fabric::metrics::{check, is_lossless};
use fairlane_fabric::{Control, Ending, Results, Simulation};
use fairlane_scenario::{Loaded, parse};

/// A run of a test that is still going after this many events will never end.
const EVENTS_MAX: u64 = 60_000_000;

/// A star of `hosts` at 100 Gb/s and 1 us.
pub fn star(hosts: u32) -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    format!("topology = {{ kind = \"star\", hosts = {hosts}, host_link = {link} }}\n")
}

/// Messages `(source, destination, bytes, start)`, in order of start.
pub fn flows(list: &[(u32, u32, u64, &str)]) -> String {
    let mut text = String::from("[[workload]]\nkind = \"flows\"\nflow = [\n");
    for (source, destination, size, start) in list {
        let ends = format!("source = {source}, destination = {destination}");
        writeln!(text, "  {{ {ends}, size = {size}, start = \"{start}\" }},").unwrap();
    }
    text + "]\n"
}

/// A topology file of links `(a, b, rate, delay)`; nodes from `hosts` on are switches.
pub fn links(hosts: u32, list: &[(u32, u32, &str, &str)]) -> String {
    let nodes = 1 + list.iter().map(|link| link.0.max(link.1)).max().unwrap();
    let nodes = nodes.max(hosts);
    let switches: Vec<String> = (hosts..nodes).map(|node| node.to_string()).collect();
    let mut text = format!("{nodes} {} {}\n", nodes - hosts, list.len());
    writeln!(text, "{}", switches.join(" ")).unwrap();
    for (a, b, rate, delay) in list {
        writeln!(text, "{a} {b} {rate} {delay} 0").unwrap();
    }
    text
}

/// Reads a scenario with overrides.
pub fn loaded(text: &str, sets: &[&str]) -> Loaded {
    loaded_in(Path::new("."), text, sets)
}

/// Scenario number `seed` of [`random`], whose receivers apportion their links.
pub fn apportioned(seed: u64) -> Loaded {
    let sets = random::apportioning(seed);
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    loaded(&random::scenario(seed), &sets)
}

/// Reads a scenario whose topology is the file `topology`; `name` is the test's own.
pub fn loaded_with(name: &str, topology: &str, text: &str, sets: &[&str]) -> Loaded {
    // Tests of one name run at the same time.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = scratch(&format!("{name}-{number}"));
    fs::write(folder.join("topology.txt"), topology).unwrap();
    let text = format!("topology = {{ kind = \"file\", path = \"topology.txt\" }}\n{text}");
    loaded_in(&folder, &text, sets)
}

fn loaded_in(folder: &Path, text: &str, sets: &[&str]) -> Loaded {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    match parse(text, "test.toml", folder, &sets, None) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{error}\n{text}\n{sets:?}"),
    }
}

/// A folder of the test `name`.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a scenario; a run that spins is ended as stopped.
pub fn run_unchecked(loaded: &Loaded) -> Results {
    run_for(loaded, EVENTS_MAX)
}

/// Runs a scenario for about so many events at most.
pub fn run_for(loaded: &Loaded, events: u64) -> Results {
    let simulation = Simulation::new(loaded).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(&mut |progress| {
        if progress.events < events {
            Control::Continue
        } else {
            Control::Interrupt
        }
    })
}

/// Runs a scenario and checks what must hold of every result.
pub fn run(loaded: &Loaded) -> Results {
    let results = run_unchecked(loaded);
    let lossless = is_lossless(&loaded.scenario, &results);
    assert_eq!(check(&results, lossless), Vec::<String>::new());
    results
}

/// Runs a scenario to its complete end.
pub fn complete(loaded: &Loaded) -> Results {
    let results = run(loaded);
    assert_eq!(results.totals.ending, Ending::Complete);
    results
}

/// Picoseconds from start to finish of message `id`.
pub fn taken(results: &Results, id: u32) -> u64 {
    let message = results
        .messages
        .iter()
        .find(|message| message.id.get() == id)
        .unwrap();
    (message.finish.unwrap() - message.start).as_ps()
}

/// How many packets were lost for `reason`.
pub fn drops(results: &Results, reason: &str) -> u64 {
    results.signals.drops[reason].count
}

/// The folder of reference data, or `None` with a printed reason.
pub fn reference() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let folder = std::env::var_os("FAIRLANE_REFERENCE").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no reference data; set FAIRLANE_REFERENCE to its folder");
    None
}

/// The text of a file or of the file with `.gz` behind its name, if either exists.
pub fn plain_or_gzipped(path: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(path) {
        return Some(text);
    }
    let file = fs::File::open(format!("{}.gz", path.display())).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    Some(text)
}
