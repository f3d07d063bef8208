//! NICs: their costs and policies.

use fairlane_units::{Bytes, Rate};

use super::limits::{LARGEST, SLOWEST, fail, positive, positive_span, rate, span, within};
use super::{Check, Subject};
use crate::nic::{Costs, Drum, Policy, is_default};
use crate::types::{Profile, Service, Verb};

/// More queue pairs than any NIC has.
const MOST_ENTRIES: u32 = 1 << 24;
/// The longest send queue of any NIC is far below.
const MOST_WQES: u32 = 1 << 16;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let nic = &subject.scenario.nic;
    scope(subject)?;
    service(subject)?;
    if let Some(costs) = &nic.costs {
        self::costs(subject.scenario.profile, costs)?;
    }
    within("nic.share.ratio", nic.share.ratio, 1, MOST_WQES)?;
    drum(subject.scenario.profile, &nic.drum)?;
    let justitia = &nic.justitia;
    let profile = subject.scenario.profile;
    positive_span(
        profile,
        "nic.justitia.latency_target",
        justitia.latency_target,
    )?;
    within("nic.justitia.chunk", justitia.chunk, Bytes::new(1), LARGEST)?;
    positive_span(profile, "nic.justitia.interval", justitia.interval)?;
    rate("nic.justitia.min_rate", justitia.min_rate)
}

/// Costs and policies are about connections that stay open.
fn scope(subject: &Subject<'_>) -> Check {
    let (scenario, nic) = (subject.scenario, &subject.scenario.nic);
    let key = match (nic.costs.is_some(), is_default(&nic.policy)) {
        (true, _) => "nic.costs",
        (_, false) => "nic.policy",
        _ => return Ok(()),
    };
    // Costs are those of the queue pairs of paths, too.
    if scenario.multipath.is_some() && is_default(&nic.policy) {
        return Ok(());
    }
    let other = scenario
        .workload
        .iter()
        .position(|workload| !workload.is_key_value());
    match other {
        Some(index) => {
            let message =
                format!("applies to key-value workloads, but workload[{index}] is another");
            fail(key, message, "make every workload key-value, or remove it")
        }
        None if scenario.workload.is_empty() => Ok(()),
        None if nic.policy == Policy::Justitia && scenario.transport.service == Service::Ud => {
            let hint = "use service \"rc\" or \"uc\"";
            fail(
                "nic.policy",
                "splits messages, which datagrams don't allow",
                hint,
            )
        }
        None => Ok(()),
    }
}

/// What other services than reliable connections can't do.
fn service(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let service = scenario.transport.service;
    if service == Service::Rc {
        return Ok(());
    }
    for (index, workload) in scenario.workload.iter().enumerate() {
        if !workload.is_key_value() {
            let message = format!("serves key-value workloads, but workload[{index}] is another");
            return fail("transport.service", message, "use service \"rc\"");
        }
        let fits = match service {
            Service::Ud => workload.verb() == Verb::Send,
            _ => matches!(workload.verb(), Verb::Send | Verb::Write),
        };
        if !fits {
            let verb = workload.verb().name();
            let message = format!("is \"{verb}\", which the service doesn't have");
            let hint = "unreliable connections have write and send, datagrams send";
            return fail(format!("workload[{index}].verb"), message, hint);
        }
    }
    Ok(())
}

fn costs(profile: Profile, costs: &Costs) -> Check {
    for (key, value) in [
        ("doorbell", costs.doorbell),
        ("wqe_fetch", costs.wqe_fetch),
        ("processing", costs.processing),
        ("cache_miss", costs.cache_miss),
        ("cqe_write", costs.cqe_write),
        ("post", costs.post),
        ("poll", costs.poll),
        ("cqe", costs.cqe),
        ("lock", costs.lock),
        ("lock_contention", costs.lock_contention),
        ("handoff", costs.handoff),
    ] {
        span(profile, &format!("nic.costs.{key}"), value)?;
    }
    within(
        "nic.costs.wqes_per_fetch",
        costs.wqes_per_fetch,
        1,
        MOST_WQES,
    )?;
    within("nic.costs.pipeline", costs.pipeline, 1, MOST_WQES)?;
    within(
        "nic.costs.cache_entries",
        costs.cache_entries,
        1,
        MOST_ENTRIES,
    )?;
    within(
        "nic.costs.receive_buffer",
        costs.receive_buffer,
        Bytes::new(1),
        LARGEST,
    )?;
    let most = Bytes::new(1 << 16);
    within("nic.costs.wqe_bytes", costs.wqe_bytes, Bytes::ZERO, most)?;
    // A root complex may be faster than any link of the fabric.
    within(
        "nic.costs.pcie_rate",
        costs.pcie_rate,
        SLOWEST,
        Rate::from_gbps(64_000),
    )
}

fn drum(profile: Profile, drum: &Drum) -> Check {
    positive("nic.drum.active", drum.active)?;
    positive_span(profile, "nic.drum.epoch", drum.epoch)?;
    positive("nic.drum.window", drum.window)?;
    within(
        "nic.drum.window_bytes",
        drum.window_bytes,
        Bytes::new(1),
        LARGEST,
    )?;
    span(profile, "nic.drum.linger", drum.linger)?;
    within("nic.drum.alpha", drum.alpha, 0.0, 64.0)?;
    within("nic.drum.beta", drum.beta, 0.0, 1e6)
}
