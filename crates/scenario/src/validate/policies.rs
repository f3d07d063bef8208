//! Congestion control: its parameters, and what it needs of the fabric.

use fairlane_congestion::dasr::Mode;
use fairlane_congestion::{Algorithm, Limit, Rule, Scope, WindowMode};
use fairlane_units::{NodeId, Rate};
use toml::Value;

use super::graph::counts;
use super::ns3::ensure_ns3;
use super::{Check, Subject, controls};
use crate::error::{bail, ensure};
use crate::inputs::Inputs;
use crate::layout::{hosts, layout};
use crate::rules::SLOWEST;
use crate::section::Section as _;
use crate::types::{Congestion, Notification, Profile, Scenario, Service};

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let congestion = &subject.scenario.congestion;
    for limit in congestion.params().limits() {
        if let Rule::Floor(least) = limit.rule {
            let place = format!("congestion.{}.{}", congestion.algorithm, limit.key);
            floor(subject, &place, least)?;
        }
    }
    notification(subject.scenario)?;
    needs(subject)?;
    apportioning(subject.scenario)
}

/// Floors of rates that are by default above a tenth of the slowest host link, at which a controller could hardly slow down, with
/// that tenth. None of a scenario whose fabric can't be laid out.
pub(crate) fn default_floors(scenario: &Scenario, inputs: &Inputs) -> Vec<(String, Value)> {
    let sound = scenario
        .check(scenario.profile)
        .and_then(|()| counts(scenario));
    let Some(slowest) = sound
        .ok()
        .and_then(|()| slowest_host_link(scenario, inputs))
    else {
        return Vec::new();
    };
    let floor = Rate::from_bps(slowest.as_bps() / 10).max(SLOWEST);
    let above = |limit: &Limit| matches!(limit.rule, Rule::Floor(default) if default > floor);
    let keys = Congestion::limits().flat_map(|(table, limits)| {
        let above = limits.into_iter().filter(above);
        above.map(move |limit| format!("congestion.{table}.{}", limit.key))
    });
    keys.map(|key| (key, floor.to_string().into())).collect()
}

fn slowest_host_link(scenario: &Scenario, inputs: &Inputs) -> Option<Rate> {
    let hosts = hosts(scenario, inputs);
    let is_host = |node: u32| hosts.binary_search(&NodeId::new(node)).is_ok();
    let links = layout(scenario, inputs).links.into_iter();
    let links = links.filter(|link| is_host(link.a) || is_host(link.b));
    links.map(|link| link.rate).min()
}

/// The floor of the rate must be within reach of every host.
pub(super) fn floor(subject: &Subject<'_>, place: &str, floor: Rate) -> Check {
    let slower = subject.fabric.links.iter().find(|link| {
        let at_host = subject.is_host(link.a) || subject.is_host(link.b);
        at_host && link.rate < floor
    });
    if let Some(link) = slower {
        bail!(place, "is {floor}, expected at most the rate of every host link, \
            but that between {} and {} has {}", link.a, link.b, link.rate; "lower it");
    }
    Ok(())
}

/// CNPs, where they are asked for, must be heard.
fn notification(scenario: &Scenario) -> Check {
    let hears_cnps = |algorithm: &Algorithm| algorithm.needs().hears_cnps;
    let hearing = Algorithm::ALL.into_iter().filter(hears_cnps);
    let hearing: Vec<_> = hearing.map(Algorithm::name).collect();
    let congestion = &scenario.congestion;
    let (algorithm, notification) = (congestion.algorithm, congestion.notification);
    // Those that need no marks don't miss them where others hear CNPs.
    let mut others = controls::stated(scenario).map(|(_, own)| own.algorithm);
    if !algorithm.needs().marks && others.any(|other| hears_cnps(&other)) {
        return Ok(());
    }
    ensure!(notification == Notification::Ack || hears_cnps(&algorithm), "congestion.notification",
        "is \"cnp\", expected \"ack\" for {algorithm}, which hears no CNPs";
        "{} hear CNPs", hearing.join(" and "));
    Ok(())
}

fn needs(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let algorithm = scenario.congestion.algorithm;
    let (algorithm, needs) = (algorithm.title(), algorithm.needs());
    let window = scenario.congestion.window_mode();
    ensure!(!needs.window || window != WindowMode::None, "congestion.window",
        "is \"none\", expected \"fixed\" or \"scaled\" for {algorithm}";
        "{algorithm} divides by its window; leave it out for \"scaled\"");
    if scenario.profile != Profile::HpccNs3 || !needs.telemetry {
        return Ok(());
    }
    let coded = [25, 50, 100, 200, 400].map(Rate::from_gbps);
    for (i, link) in subject.switch_links() {
        let rate = link.rate;
        ensure_ns3!(coded.contains(&rate), subject.link_place(i);
            "a link of {rate}, expected 25, 50, 100, 200 or 400 Gb/s, which telemetry has codes for,");
    }
    Ok(())
}

/// Receivers that apportion their links, which acknowledgements tell.
fn apportioning(scenario: &Scenario) -> Check {
    let place = "congestion.dasr.mode";
    let (stated, congestion) = (scenario.congestion.dasr.mode, &scenario.congestion);
    let reliable = scenario.transport.service == Service::Rc;
    ensure!(reliable || !stated.is_on(), place,
        "is \"{stated}\", expected \"off\" over a service without acknowledgements";
        "shares come back in acknowledgements: use transport.service \"rc\"");
    let shares = congestion.scope == Scope::Tenant && congestion.tenant.shares;
    ensure!(reliable || !shares, "congestion.tenant.shares",
        "is true, expected false over a service without acknowledgements";
        "shares come back in acknowledgements: use transport.service \"rc\", or do without them");
    ensure!(!shares || stated != Mode::Window, place,
        "is \"window\", expected one that divides beside congestion.tenant.shares";
        "leave it out, which is \"demand-aware\", or set congestion.tenant.shares = false");
    Ok(())
}
