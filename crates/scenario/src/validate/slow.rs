//! Links that are slower than the topology says.

use super::limits::{fail, rate};
use super::{Check, Subject};
use crate::types::Profile;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let slow = &subject.scenario.faults.slow;
    for (index, link) in slow.iter().enumerate() {
        let place = format!("faults.slow[{index}]");
        let [a, b] = link.between;
        if subject.scenario.profile == Profile::HpccNs3 {
            let message = "is stated, but profile \"hpcc-ns3\" has the rates of its topology file";
            return fail(place, message, "change the rate there");
        }
        let mut links = subject.fabric.links.iter();
        if !links.any(|one| link.joins(one.a, one.b)) {
            let message = format!("no link between nodes {a} and {b}");
            let hint = "`fairlane topology` lists the links";
            return fail(format!("{place}.between"), message, hint);
        }
        if slow[..index].iter().any(|earlier| earlier.joins(a, b)) {
            let message = format!("link {a}-{b} has a rate already");
            let hint = "name each link once";
            return fail(format!("{place}.between"), message, hint);
        }
        rate(&format!("{place}.rate"), link.rate)?;
    }
    Ok(())
}
