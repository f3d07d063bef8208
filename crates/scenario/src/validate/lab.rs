//! Programs of a lab: names, hosts, tenants, and who waits for whom.

use std::collections::BTreeSet;

use crate::error::{ensure, suggestion};
use crate::section::Check;
use crate::tenant::called;
use crate::types::{LabProgram, Scenario};
use fairlane_hpcc_files::lines::shorten;

/// Programs of one scenario.
const MOST: usize = 1024;
/// Characters of a name, which files have, too.
const LONGEST_NAME: usize = 40;

/// Checks them on a fabric of which `check_host` says at a place whether a node is a host.
pub(super) fn check(scenario: &Scenario, check_host: impl Fn(u32, String) -> Check) -> Check {
    let Some(lab) = &scenario.lab else {
        return Ok(());
    };
    let count = lab.program.len();
    ensure!(count <= MOST, "lab.program", "{count} programs, expected at most {MOST}";
        "let one program do what several do");
    let mut names = BTreeSet::new();
    for (index, program) in lab.program.iter().enumerate() {
        let place = |key: &str| format!("lab.program[{index}].{key}");
        name(program, &names, place("name"))?;
        check_host(program.host, place("host"))?;
        ensure!(program.command.first().is_some_and(|first| !first.is_empty()), place("command"),
            "names no program"; "write command = [\"ib_write_bw\", \"-n\", \"100\"]");
        if let (Some(after), None) = (&program.after, program.delay()) {
            known(
                after,
                &names,
                place("after"),
                "a time such as \"2s\", or an earlier program",
            )?;
        }
        ensure!(called(&scenario.tenant, program.tenant.as_deref()).is_some(), place("tenant"),
            "no tenant is called \"{}\"", shorten(program.tenant.as_deref().unwrap_or_default());
            "add a [[tenant]] with that name");
        names.insert(program.name.as_str());
    }
    for (index, program) in lab.program.iter().enumerate() {
        let is_there = |name: &str| names.contains(name).then(String::new);
        if let Err(missing) = program.command_with(is_there) {
            let place = format!("lab.program[{index}].command");
            known(
                &missing,
                &names,
                place,
                "the name of a program in {address:NAME}",
            )?;
        }
    }
    for (index, fault) in lab.fault.iter().enumerate() {
        let place = format!("lab.fault[{index}].program");
        known(&fault.program, &names, place, "the name of a program")?;
    }
    Ok(())
}

fn name(program: &LabProgram, names: &BTreeSet<&str>, place: String) -> Check {
    let name = program.name.as_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() <= LONGEST_NAME;
    ensure!(fits && name.chars().all(plain), place,
        "is \"{}\", expected a letter, then up to {} letters, digits, `-`, `_` and `.`",
        shorten(name), LONGEST_NAME - 1; "write a name such as \"server\"");
    ensure!(!names.contains(name), place, "is \"{name}\", the name of an earlier program";
        "give every program a name of its own");
    Ok(())
}

/// That a program has this name.
fn known(name: &str, names: &BTreeSet<&str>, place: String, expected: &str) -> Check {
    let hint = suggestion(
        name,
        names.iter().copied(),
        '"',
        "add a [[lab.program]] with that name before it",
    );
    ensure!(names.contains(name), place, "is \"{}\", expected {expected}", shorten(name); "{hint}");
    Ok(())
}
