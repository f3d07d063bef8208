//! Congestion control: its parameters, and what it needs of the fabric.

use fairlane_congestion::{Algorithm, WindowMode, dcqcn, hpcc};
use fairlane_units::Rate;

use super::limits::{FASTEST, fail, positive_span, rate, share, within};
use super::{Check, Subject};
use crate::types::Profile;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let congestion = &subject.scenario.congestion;
    if let Some(fixed) = congestion.fixed.rate {
        rate("congestion.fixed.rate", fixed)?;
    }
    check_dcqcn(subject.scenario.profile, &congestion.dcqcn)?;
    check_hpcc(&congestion.hpcc)?;
    match congestion.algorithm {
        Algorithm::Fixed => Ok(()),
        Algorithm::Dcqcn => floor(
            subject,
            "congestion.dcqcn.min_rate",
            congestion.dcqcn.min_rate,
        ),
        Algorithm::Hpcc => {
            floor(
                subject,
                "congestion.hpcc.min_rate",
                congestion.hpcc.min_rate,
            )?;
            hpcc_needs(subject)
        }
    }
}

fn check_dcqcn(profile: Profile, config: &dcqcn::Config) -> Check {
    within("congestion.dcqcn.gain", config.gain, 0.0, 1.0)?;
    positive_span(
        profile,
        "congestion.dcqcn.alpha_interval",
        config.alpha_interval,
    )?;
    positive_span(
        profile,
        "congestion.dcqcn.decrease_interval",
        config.decrease_interval,
    )?;
    positive_span(
        profile,
        "congestion.dcqcn.increase_interval",
        config.increase_interval,
    )?;
    let step = |key: &str, value| {
        within(
            &format!("congestion.dcqcn.{key}"),
            value,
            Rate::ZERO,
            FASTEST,
        )
    };
    step("additive_increase", config.additive_increase)?;
    step("hyper_increase", config.hyper_increase)?;
    rate("congestion.dcqcn.min_rate", config.min_rate)
}

fn check_hpcc(config: &hpcc::Config) -> Check {
    share(
        "congestion.hpcc.target_utilization",
        config.target_utilization,
    )?;
    within(
        "congestion.hpcc.additive_increase",
        config.additive_increase,
        Rate::ZERO,
        FASTEST,
    )?;
    within(
        "congestion.hpcc.telemetry_multiplier",
        config.telemetry_multiplier,
        1,
        1 << 16,
    )?;
    rate("congestion.hpcc.min_rate", config.min_rate)
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

fn hpcc_needs(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    if scenario.congestion.window_mode() == WindowMode::None {
        let message = "is \"none\", expected \"fixed\" or \"scaled\" for HPCC";
        return fail(
            "congestion.window",
            message,
            "HPCC divides by its window; leave it out for \"scaled\"",
        );
    }
    if scenario.profile != Profile::HpccNs3 {
        return Ok(());
    }
    let coded = [25, 50, 100, 200, 400].map(Rate::from_gbps);
    let switches = subject.switch_flags();
    for (i, link) in subject.fabric.links.iter().enumerate() {
        let at_switch = switches[link.a as usize] || switches[link.b as usize];
        if at_switch && !coded.contains(&link.rate) {
            let message = format!(
                "a link of {}, expected 25, 50, 100, 200 or 400 Gb/s: the telemetry of profile \"hpcc-ns3\" has codes for no others",
                link.rate
            );
            return fail(
                subject.link_place(i),
                message,
                "use profile \"exact\" for other rates",
            );
        }
    }
    Ok(())
}
