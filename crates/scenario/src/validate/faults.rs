//! Faults: links that go down, links that are slow, hosts that pause their switch.

use std::collections::BTreeSet;

use super::limits::fail;
use super::{Check, Subject};
use crate::types::{LinkFault, PauseFault};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let faults = &subject.scenario.faults;
    let changed = !faults.link.is_empty() || !faults.slow.is_empty();
    let links = subject.fabric.links.iter().filter(|_| changed);
    let links: BTreeSet<_> = links.map(|link| ordered([link.a, link.b])).collect();
    let between = |place: &str, ends: [u32; 2]| {
        if links.contains(&ordered(ends)) {
            return Ok(());
        }
        let message = format!("no link between nodes {} and {}", ends[0], ends[1]);
        let hint = "`fairlane topology` lists the links";
        fail(format!("{place}.between"), message, hint)
    };
    for (index, fault) in faults.link.iter().enumerate() {
        let place = format!("faults.link[{index}]");
        between(&place, fault.between)?;
        down(&place, fault)?;
    }
    overlaps(subject)?;
    for (index, link) in faults.slow.iter().enumerate() {
        let place = format!("faults.slow[{index}]");
        between(&place, link.between)?;
        slow(subject, &place, index)?;
    }
    for (index, fault) in faults.pause.iter().enumerate() {
        pause(subject, &format!("faults.pause[{index}]"), fault)?;
    }
    Ok(())
}

fn ordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// A link that goes down, and may come back.
fn down(place: &str, fault: &LinkFault) -> Check {
    let Some(up) = fault.up.filter(|up| *up <= fault.down) else {
        return Ok(());
    };
    let message = format!("is {up}, expected after it goes down at {}", fault.down);
    let hint = "times are counted from the start of the run";
    fail(format!("{place}.up"), message, hint)
}

/// Times of one link must not overlap: it can't go down twice without coming back.
fn overlaps(subject: &Subject<'_>) -> Check {
    let faults = &subject.scenario.faults.link;
    let mut order: Vec<usize> = (0..faults.len()).collect();
    let link = |i: usize| ordered(faults[i].between);
    order.sort_by_key(|i| (link(*i), faults[*i].down, *i));
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let back = faults[first].up.is_some_and(|up| up <= faults[second].down);
        if link(first) == link(second) && !back {
            let [a, b] = link(first);
            let message = format!("link {a}-{b} is already down since {}", faults[first].down);
            let place = format!("faults.link[{second}].down");
            let hint = "let it come back (`up`) before it goes down again";
            return fail(place, message, hint);
        }
    }
    Ok(())
}

/// A link that is slower than the topology says.
fn slow(subject: &Subject<'_>, place: &str, index: usize) -> Check {
    let slow = &subject.scenario.faults.slow;
    let [a, b] = slow[index].between;
    if slow[..index].iter().any(|earlier| earlier.joins(a, b)) {
        let message = format!("link {a}-{b} has a rate already");
        return fail(format!("{place}.between"), message, "name each link once");
    }
    Ok(())
}

/// A host that pauses its switch.
fn pause(subject: &Subject<'_>, place: &str, fault: &PauseFault) -> Check {
    let key = |key: &str| format!("{place}.{key}");
    if !subject.scenario.switch.pfc.enabled {
        let message = "pauses, expected switch.pfc.enabled = true";
        let hint = "switches obey pauses only with priority flow control: turn it on";
        return fail(key("host"), message, hint);
    }
    if !subject.is_host(fault.host) {
        let message = format!("node {} isn't a host", fault.host);
        return fail(key("host"), message, "`fairlane topology` lists the hosts");
    }
    if let Some(period) = fault.period
        && period <= fault.duration
    {
        let message = format!(
            "is {period}, expected more than the duration, {}",
            fault.duration
        );
        let hint = "leave period out for a single pause, or lengthen it";
        return fail(key("period"), message, hint);
    }
    Ok(())
}
