//! When traffic classes send at ports.

use fairlane_congestion::Scope;

use super::{Check, Subject};
use crate::error::ensure;
use crate::types::ClassSchedule;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    list("switch.class", &scenario.switch.class)?;
    list("nic.class", &scenario.nic.class)?;
    if scenario.nic.class.is_empty() {
        return Ok(());
    }
    let scope = scenario.congestion.scope;
    ensure!(matches!(scope, Scope::Qp | Scope::None), "nic.class",
        "is stated, but scope \"{scope}\" decides itself which queue pair sends";
        "use congestion.scope \"qp\" or \"none\", or leave the classes to switch.class");
    let mode = scenario.congestion.apportioning().mode;
    ensure!(!mode.is_on(), "nic.class",
        "is stated, but with congestion.dasr.mode \"{mode}\" receivers decide which queue pair sends";
        "turn one of them off, or leave the classes to switch.class");
    Ok(())
}

fn list(key: &str, classes: &[ClassSchedule]) -> Check {
    for (i, it) in classes.iter().enumerate() {
        let class = it.class;
        let place = |key_of: &str| format!("{key}[{i}].{key_of}");
        let before = classes[..i].iter().position(|other| other.class == class);
        if let Some(before) = before {
            let which = place("class");
            ensure!(false, which, "is {class}, as of {key}[{before}]"; "list each class once");
        }
        ensure!(!it.strict || it.weight.is_none(), place("weight"),
            "is stated for class {class}, which is strict"; "remove one of the two");
        ensure!(it.strict || it.weight.is_some(), place("weight"),
            "is missing for class {class}, expected a weight, or `strict = true`";
            "weights are relative: 3 and 1 are three quarters and one");
    }
    Ok(())
}
