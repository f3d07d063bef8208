//! Helpers of the tests.
#![allow(unreachable_pub, reason = "helpers are those of a crate")]

use std::path::Path;

use fairlane_attacks::Plan;
use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Results};
use fairlane_scenario::{Error, Loaded, parse};

/// Hosts 0 to `left - 1` on one switch, as many on the other, one link between the switches. Red has the
/// even hosts, blue the odd ones.
pub fn dumbbell(left: u32) -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let hosts = |odd: u32| {
        let mine = (0..2 * left).filter(|host| host % 2 == odd);
        mine.map(|host| host.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    format!(
        "topology = {{ kind = \"dumbbell\", left = {left}, right = {left}, host_link = {link}, core_link = {link} }}\n\
         tenant = [{{ name = \"red\", hosts = \"{}\" }}, {{ name = \"blue\", hosts = \"{}\" }}]\n",
        hosts(0),
        hosts(1)
    )
}

/// A star of `hosts`, the first `red` of which are red's, all others blue's.
pub fn star(hosts: u32, red: u32) -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    format!(
        "topology = {{ kind = \"star\", hosts = {hosts}, host_link = {link} }}\n\
         tenant = [{{ name = \"red\", hosts = \"0-{}\" }}, {{ name = \"blue\", hosts = \"{}-{}\" }}]\n",
        red - 1,
        red.min(hosts - 1),
        hosts - 1
    )
}

/// Messages `(source, destination, bytes)` of a tenant, all at once.
pub fn flows(tenant: &str, list: &[(u32, u32, u64)]) -> String {
    let flow = |(source, destination, size): &(u32, u32, u64)| {
        format!("{{ source = {source}, destination = {destination}, size = {size} }}")
    };
    let list: Vec<String> = list.iter().map(flow).collect();
    format!(
        "[[workload]]\nkind = \"flows\"\ntenant = \"{tenant}\"\nflow = [{}]\n",
        list.join(", ")
    )
}

/// Reads a scenario.
pub fn loaded(text: &str, sets: &[&str]) -> Loaded {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    match parse(text, "test.toml", Path::new("."), &sets, None) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{error}\n{text}\n{sets:?}"),
    }
}

pub fn plan(text: &str, sets: &[&str]) -> Plan {
    Plan::new(&loaded(text, sets)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The error with which an attack is refused, by the scenario or later.
pub fn refused(text: &str, sets: &[&str]) -> Error {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let error = match parse(text, "test.toml", Path::new("."), &sets, None) {
        Err(error) => error,
        Ok(loaded) => match Plan::new(&loaded) {
            Err(error) => error,
            Ok(_) => panic!("not refused: {sets:?}\n{text}"),
        },
    };
    assert!(!error.hint.is_empty(), "{error}");
    error
}

/// Runs a plan and checks what must hold of every result.
pub fn run(plan: &Plan) -> Results {
    let simulation = plan.simulation().unwrap_or_else(|error| panic!("{error}"));
    let results = simulation.run(&mut |_| Control::Continue);
    let lossless = plan.loaded.scenario.switch.pfc.enabled;
    assert_eq!(check(&results, lossless), Vec::<String>::new());
    results
}

/// When the last of a tenant's messages has arrived, in microseconds.
pub fn last_finish(results: &Results, tenant: u32) -> f64 {
    let own = results.messages.iter().filter(|m| m.tenant.get() == tenant);
    let last = own.map(|m| m.finish.expect("complete")).max().unwrap();
    last.as_ps() as f64 * 1e-6
}
