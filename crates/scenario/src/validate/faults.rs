//! Faults: links that go down, links that are slow, hosts that pause their switch.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Subject};
use crate::error::ensure;
use crate::faults::unordered;
use crate::types::{LinkFault, PauseFault};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let faults = &subject.scenario.faults;
    let links = Links::new(subject);
    for (index, fault) in faults.link.iter().enumerate() {
        let place = format!("faults.link[{index}]");
        links.check(&place, fault.between, fault.index)?;
        if let Some(up) = fault.up {
            ensure!(up > fault.down, format!("{place}.up"),
                "is {up}, expected after it goes down at {}", fault.down;
                "times are counted from the start of the run");
        }
    }
    links.overlaps(&faults.link)?;
    let mut slow = BTreeSet::new();
    for (index, link) in faults.slow.iter().enumerate() {
        let place = format!("faults.slow[{index}]");
        links.check(&place, link.between, link.index)?;
        let [a, b] = link.between;
        for which in links.of(link.between, link.index) {
            ensure!(slow.insert((unordered([a, b]), which)), format!("{place}.between"),
                "link {} has a rate already", links.name([a, b], which); "name each link once");
        }
    }
    for (index, fault) in faults.pause.iter().enumerate() {
        pause(subject, &format!("faults.pause[{index}]"), fault)?;
    }
    Ok(())
}

/// How many links there are between which nodes, as far as faults may ask for it.
struct Links(BTreeMap<[u32; 2], u32>);

impl Links {
    fn new(subject: &Subject<'_>) -> Self {
        let faults = &subject.scenario.faults;
        let mut counts = BTreeMap::new();
        if !faults.link.is_empty() || !faults.slow.is_empty() {
            for link in &subject.fabric.links {
                *counts.entry(unordered([link.a, link.b])).or_default() += 1;
            }
        }
        Self(counts)
    }

    fn count(&self, ends: [u32; 2]) -> u32 {
        self.0.get(&unordered(ends)).copied().unwrap_or(0)
    }

    fn check(&self, place: &str, ends: [u32; 2], index: Option<u32>) -> Check {
        let count = self.count(ends);
        ensure!(count > 0, format!("{place}.between"),
            "no link between nodes {} and {}", ends[0], ends[1];
            "`fairlane topology` lists the links");
        let Some(index) = index else { return Ok(()) };
        let last = count - 1;
        ensure!(index <= last, format!("{place}.index"),
            "is {index}, expected at most {last}: there are {count} links between {} and {}",
            ends[0], ends[1]; "links are counted from 0; leave it out for all of them");
        Ok(())
    }

    /// Which of the links between two nodes are meant.
    fn of(&self, ends: [u32; 2], index: Option<u32>) -> std::ops::Range<u32> {
        match index {
            Some(index) => index..index + 1,
            None => 0..self.count(ends),
        }
    }

    /// What messages call a link.
    fn name(&self, ends: [u32; 2], which: u32) -> String {
        let [a, b] = unordered(ends);
        match self.count(ends) {
            0 | 1 => format!("{a}-{b}"),
            _ => format!("{a}-{b} (index {which})"),
        }
    }

    /// Times of one link must not overlap: it can't go down twice without coming back.
    fn overlaps(&self, faults: &[LinkFault]) -> Check {
        let mut order = Vec::new();
        for (number, fault) in faults.iter().enumerate() {
            let which = self.of(fault.between, fault.index);
            let ends = unordered(fault.between);
            order.extend(which.map(|which| (ends, which, fault.down, number)));
        }
        order.sort_unstable();
        for pair in order.windows(2) {
            let [(ends, which, since, first), (others, other, down, second)] = [pair[0], pair[1]];
            let back = faults[first].up.is_some_and(|up| up <= down);
            ensure!(back || (ends, which) != (others, other), format!("faults.link[{second}].down"),
                "link {} is already down since {since}", self.name(ends, which);
                "let it come back (`up`) before it goes down again");
        }
        Ok(())
    }
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
