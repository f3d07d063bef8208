//! Faults: links that go down, links that are slow, hosts that pause their switch.

use std::collections::BTreeSet;

use super::{Check, Subject};
use crate::error::ensure;
use crate::types::{LinkFault, PauseFault};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let faults = &subject.scenario.faults;
    let changed = !faults.link.is_empty() || !faults.slow.is_empty();
    let links = subject.fabric.links.iter().filter(|_| changed);
    let links: BTreeSet<_> = links.map(|link| ordered([link.a, link.b])).collect();
    let between = |place: &str, ends: [u32; 2]| {
        ensure!(links.contains(&ordered(ends)), format!("{place}.between"),
            "no link between nodes {} and {}", ends[0], ends[1];
            "`fairlane topology` lists the links");
        Ok(())
    };
    for (index, fault) in faults.link.iter().enumerate() {
        let place = format!("faults.link[{index}]");
        between(&place, fault.between)?;
        if let Some(up) = fault.up {
            ensure!(up > fault.down, format!("{place}.up"),
                "is {up}, expected after it goes down at {}", fault.down;
                "times are counted from the start of the run");
        }
    }
    overlaps(&faults.link)?;
    let mut slow = BTreeSet::new();
    for (index, link) in faults.slow.iter().enumerate() {
        let place = format!("faults.slow[{index}]");
        between(&place, link.between)?;
        let [a, b] = link.between;
        ensure!(slow.insert(ordered([a, b])), format!("{place}.between"),
            "link {a}-{b} has a rate already"; "name each link once");
    }
    for (index, fault) in faults.pause.iter().enumerate() {
        pause(subject, &format!("faults.pause[{index}]"), fault)?;
    }
    Ok(())
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// Times of one link must not overlap: it can't go down twice without coming back.
fn overlaps(faults: &[LinkFault]) -> Check {
    let mut order: Vec<usize> = (0..faults.len()).collect();
    let link = |i: usize| ordered(faults[i].between);
    order.sort_by_key(|i| (link(*i), faults[*i].down, *i));
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let (since, [a, b]) = (faults[first].down, link(first));
        let back = faults[first].up.is_some_and(|up| up <= faults[second].down);
        ensure!(back || link(second) != [a, b], format!("faults.link[{second}].down"),
            "link {a}-{b} is already down since {since}";
            "let it come back (`up`) before it goes down again");
    }
    Ok(())
}

/// A host that pauses its switch.
fn pause(subject: &Subject<'_>, place: &str, fault: &PauseFault) -> Check {
    ensure!(subject.scenario.switch.pfc.enabled, format!("{place}.host"),
        "pauses, expected switch.pfc.enabled = true";
        "switches obey pauses only with priority flow control: turn it on");
    subject.check_host(fault.host, || format!("{place}.host"))?;
    if let Some(period) = fault.period {
        ensure!(period > fault.duration, format!("{place}.period"),
            "is {period}, expected more than the duration, {}", fault.duration;
            "leave period out for a single pause, or lengthen it");
    }
    Ok(())
}
