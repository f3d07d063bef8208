//! Congestion control: its parameters, and what it needs of the fabric.

use fairlane_congestion::{Rule, WindowMode};
use fairlane_units::Rate;

use super::limits::fail;
use super::{Check, Subject, ns3};
use crate::types::{Notification, Profile};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let congestion = &subject.scenario.congestion;
    for limit in congestion.params().limits() {
        if let Rule::Floor(least) = limit.rule {
            let place = format!("congestion.{}.{}", congestion.algorithm, limit.key);
            floor(subject, &place, least)?;
        }
    }
    notification(subject)?;
    needs(subject)
}

/// The floor of the rate must be within reach of every host.
fn floor(subject: &Subject<'_>, place: &str, floor: Rate) -> Check {
    let switches = subject.switch_flags();
    let slower = subject.fabric.links.iter().find(|link| {
        let at_host = !switches[link.a as usize] || !switches[link.b as usize];
        at_host && link.rate < floor
    });
    let Some(link) = slower else { return Ok(()) };
    let message = format!(
        "is {floor}, expected at most the rate of every host link, but that between {} and {} has {}",
        link.a, link.b, link.rate
    );
    fail(place, message, "lower it")
}

/// CNPs, where they are asked for, must be heard.
fn notification(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let congestion = &scenario.congestion;
    if congestion.notification == Notification::Ack {
        return Ok(());
    }
    let place = "congestion.notification";
    let algorithm = congestion.algorithm;
    if !algorithm.needs().hears_cnps {
        let message = format!("is \"cnp\", expected \"ack\" for {algorithm}, which hears no CNPs");
        let all = fairlane_congestion::Algorithm::ALL.into_iter();
        let hearing: Vec<_> = all
            .filter(|algorithm| algorithm.needs().hears_cnps)
            .map(|algorithm| algorithm.name())
            .collect();
        return fail(
            place,
            message,
            format!("{} hear CNPs", hearing.join(" and ")),
        );
    }
    Ok(())
}

fn needs(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let algorithm = scenario.congestion.algorithm;
    let (algorithm, needs) = (algorithm.title(), algorithm.needs());
    if needs.window && scenario.congestion.window_mode() == WindowMode::None {
        let message = format!("is \"none\", expected \"fixed\" or \"scaled\" for {algorithm}");
        let hint = format!("{algorithm} divides by its window; leave it out for \"scaled\"");
        return fail("congestion.window", message, hint);
    }
    if scenario.profile != Profile::HpccNs3 || !needs.telemetry {
        return Ok(());
    }
    let coded = [25, 50, 100, 200, 400].map(Rate::from_gbps);
    let switches = subject.switch_flags();
    for (i, link) in subject.fabric.links.iter().enumerate() {
        let at_switch = switches[link.a as usize] || switches[link.b as usize];
        if at_switch && !coded.contains(&link.rate) {
            let found = format!(
                "a link of {}, expected 25, 50, 100, 200 or 400 Gb/s, which telemetry has codes for,",
                link.rate
            );
            return ns3::refuse(subject.link_place(i), &found);
        }
    }
    Ok(())
}
