//! What must hold of every result.

use fairlane_scenario::{AckPause, Scenario};

use super::statistics::completion;
use crate::{Ending, Flux, MessageRecord, Outcome, Results, Signal, TenantSignals};

/// Messages that are named one by one; a fault of all of them would fill pages.
const MOST_NAMED: usize = 20;

/// States each way in which the results can't be true; empty if they can.
///
/// No message is faster than its ideal time, compared as integers; what entered the fabric left it,
/// was dropped or is under way; drops add up over their reasons, and signals over tenants; outcomes,
/// finishes and the ending agree. If `lossless`, as [`is_lossless`] says, no buffer may have overflowed.
pub fn check(results: &Results, lossless: bool) -> Vec<String> {
    let mut faults = messages(results);
    faults.extend(ending(results));
    faults.extend(conservation(results));
    faults.extend(drops(results, lossless));
    faults.extend(tenants(results));
    faults
}

/// Whether no buffer of a switch may overflow in a run of `scenario`: priority flow control is on, and everybody obeys
/// it. Ports whose watchdog has bitten don't, nor do acknowledgements that wait for no pause of the class
/// that they travel in: headroom isn't made for what keeps coming.
pub fn is_lossless(scenario: &Scenario, results: &Results) -> bool {
    let pfc = &scenario.switch.pfc;
    let mut messages = results.messages.iter();
    let obeyed = match scenario.nic.ack_pause {
        _ if scenario.transport.ack_control_class => true,
        AckPause::OwnClass => true,
        AckPause::Class3 => messages.all(|message| message.class == 3),
        AckPause::Never => false,
    };
    pfc.enabled && pfc.watchdog.is_none() && obeyed
}

fn messages(results: &Results) -> Vec<String> {
    let mut faulty = results.messages.iter().filter_map(message);
    let mut faults: Vec<String> = faulty.by_ref().take(MOST_NAMED).collect();
    let more = faulty.count();
    if more > 0 {
        faults.push(format!("{more} more messages are at fault"));
    }
    faults
}

fn message(message: &MessageRecord) -> Option<String> {
    let MessageRecord {
        id,
        source,
        destination,
        size,
        start,
        ideal,
        ..
    } = message;
    let name = format!("message {id} of {size} from host {source} to host {destination}");
    let finished = message.finish.is_some();
    if finished != (message.outcome == Outcome::Completed) {
        let finish = if finished {
            "has a finish"
        } else {
            "has no finish"
        };
        return Some(format!(
            "{name} {finish} although its outcome is {:?}",
            message.outcome
        ));
    }
    let finish = message.finish?;
    if finish < *start {
        return Some(format!(
            "{name} finishes at {finish}, before its start at {start}"
        ));
    }
    let taken = completion(message)?;
    if taken < *ideal {
        return Some(format!(
            "{name} takes {taken}, less than its ideal time of {ideal}"
        ));
    }
    ideal
        .is_zero()
        .then(|| format!("{name} has an ideal time of 0"))
}

fn ending(results: &Results) -> Option<String> {
    let incomplete = |message: &&MessageRecord| message.outcome != Outcome::Completed;
    let incomplete = results.messages.iter().filter(incomplete).count();
    match &results.totals.ending {
        Ending::Complete if incomplete > 0 => Some(format!(
            "the run ended as complete with {incomplete} incomplete messages"
        )),
        Ending::Stalled(_) | Ending::Failed if incomplete == 0 => {
            Some("the run stalled or failed although every message is complete".into())
        }
        _ => None,
    }
}

fn conservation(results: &Results) -> Vec<String> {
    let totals = &results.totals;
    let balance = |what: &str, part: fn(&Flux) -> u64| {
        let injected = part(&totals.injected);
        let parts = [&totals.delivered, &totals.dropped, &totals.in_flight].map(part);
        let accounted: u128 = parts.iter().copied().map(u128::from).sum();
        let [delivered, dropped, in_flight] = parts;
        (u128::from(injected) != accounted).then(|| {
            format!(
                "{injected} {what} were injected, but {delivered} were delivered, {dropped} \
                 dropped and {in_flight} in flight: {accounted} in all"
            )
        })
    };
    let packets = balance("packets", |flux| flux.packets);
    let bytes = balance("bytes", |flux| flux.bytes);
    packets.into_iter().chain(bytes).collect()
}

fn drops(results: &Results, lossless: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let by_reason = &results.signals.drops;
    let total: u64 = by_reason.values().map(|signal| signal.count).sum();
    let dropped = results.totals.dropped.packets;
    if total != dropped {
        faults.push(format!(
            "{dropped} packets were dropped, but reasons are given for {total}"
        ));
    }
    let overflowed = by_reason
        .get("buffer-full")
        .map_or(0, |signal| signal.count);
    if lossless && overflowed > 0 {
        faults.push(format!(
            "{overflowed} packets overflowed a buffer although pauses are on"
        ));
    }
    faults
}

/// Every message belongs to a tenant, and what happened to tenants adds up.
fn tenants(results: &Results) -> Vec<String> {
    let count = results.tenants.len();
    let mut strays = results.messages.iter();
    let stray = strays.find(|message| message.tenant.index() >= count);
    let mut faults: Vec<String> = stray
        .map(|stray| {
            let (id, tenant) = (stray.id, stray.tenant);
            format!("message {id} belongs to tenant {tenant}, but there are {count}")
        })
        .into_iter()
        .collect();
    let signals = &results.signals;
    let Some(by_tenant) = &signals.tenants else {
        return faults;
    };
    let drops: u64 = signals.drops.values().map(|signal| signal.count).sum();
    let mut adds_up = |what: &str, whole: u64, part: fn(&TenantSignals) -> &Signal| {
        let parts: u64 = by_tenant.values().map(|its| part(its).count).sum();
        if parts != whole {
            faults.push(format!(
                "there were {whole} {what}, but tenants had {parts}"
            ));
        }
    };
    let again = signals.retransmissions.count;
    adds_up("marks", signals.ecn_marks.count, |its| &its.ecn_marks);
    adds_up("notifications", signals.cnps.count, |its| &its.cnps);
    adds_up("retransmissions", again, |its| &its.retransmissions);
    adds_up("drops", drops, |its| &its.drops);
    faults
}
