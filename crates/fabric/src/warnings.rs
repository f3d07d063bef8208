//! What makes a result worth less than it looks: settings that can't work, beforehand, and what dominated a run, afterwards.

use fairlane_scenario::{Error, Loaded, Scenario};
use fairlane_units::Duration;

use crate::Results;
use crate::load::{LinkLoad, TierLoad, tier_loads};
use crate::round_trip::base_round_trip;
use crate::simulation::build_topology;

/// The share of the time of all messages from which on waits for timeouts are said to dominate.
const DOMINATES: f64 = 0.1;

/// What a reader should know of a scenario before it is run.
///
/// # Errors
/// If the fabric can't be built.
pub fn before(loaded: &Loaded) -> Result<Vec<String>, Error> {
    let warnings = [marks(loaded)?, timeout(loaded)?];
    let warnings = warnings.into_iter().flatten();
    Ok(warnings.chain(overload(loaded)?).collect())
}

/// What links are offered by messages at random times, in words; `None` if there are none.
///
/// # Errors
/// If the fabric can't be built.
pub fn offered_load(loaded: &Loaded) -> Result<Option<String>, Error> {
    let of_tier = |tier: &TierLoad| format!("{} {}", tiers(tier), percent(tier.share));
    let tiers: Vec<String> = loads(loaded)?.iter().map(of_tier).collect();
    let words = || {
        format!(
            "payload offered, of the rate of links: {}",
            tiers.join(", ")
        )
    };
    Ok((!tiers.is_empty()).then(words))
}

/// Links are offered more than they can carry, so that queues grow for as long as messages arrive.
fn overload(loaded: &Loaded) -> Result<Option<String>, Error> {
    let tiers = loads(loaded)?;
    // Of equal ones the first: up, not down.
    let above = tiers
        .iter()
        .rev()
        .filter(|tier| tier.worst.share > 1.0 + ROUNDING);
    let Some(worst) = above.max_by(|a, b| a.worst.share.total_cmp(&b.worst.share)) else {
        return Ok(None);
    };
    let LinkLoad {
        node,
        port,
        peer,
        share,
    } = worst.worst;
    Ok(Some(format!(
        "messages at random times offer links from {} up to {} of their rate (node {node} port {port} to node {peer}), {} on \
         average: what waits grows for as long as messages arrive; lower `load`, or state that of the fabric \
         (load_of = \"fabric\")",
        self::tiers(worst),
        percent(share),
        percent(worst.share),
    )))
}

/// Sums of shares may be above what they should be by so much.
const ROUNDING: f64 = 1e-9;

fn loads(loaded: &Loaded) -> Result<Vec<TierLoad>, Error> {
    tier_loads(loaded, &build_topology(loaded)?)
}

/// The two ends of a tier's links.
fn tiers(tier: &TierLoad) -> String {
    let name = |tier: u8| match tier {
        0 => "hosts".to_owned(),
        tier => format!("tier {tier}"),
    };
    format!("{} to {}", name(tier.from), name(tier.to))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What a reader should know of a run when it reads its figures.
pub fn after(scenario: &Scenario, results: &Results) -> Vec<String> {
    let widened = widened(scenario.output.sample_interval, results);
    widened
        .into_iter()
        .chain(timeouts(scenario, results))
        .collect()
}

/// Marks come too late where a queue overflows before it reaches the marking thresholds. On a lossless fabric pauses hold
/// senders back instead.
fn marks(loaded: &Loaded) -> Result<Option<String>, Error> {
    let scenario = &loaded.scenario;
    let switch = &scenario.switch;
    let own = scenario.workload.iter();
    let own = own.filter_map(|workload| Some(scenario.own_congestion(workload)?.algorithm));
    let mut all = std::iter::once(scenario.congestion.algorithm).chain(own);
    let Some(algorithm) = all.find(|algorithm| algorithm.needs().marks) else {
        return Ok(None);
    };
    if switch.pfc.enabled || !switch.ecn.enabled {
        return Ok(None);
    }
    let topology = build_topology(loaded)?;
    let fastest = topology.links.iter().map(|link| link.rate).max();
    let known = fastest.and_then(|rate| Some((rate, scenario.thresholds(rate)?)));
    let Some((rate, (kmin, kmax, _))) = known else {
        return Ok(None);
    };
    let buffer = switch.buffer;
    if kmax <= buffer {
        return Ok(None);
    }
    let what = match kmin >= buffer {
        true => "no packet is ever marked",
        false => "packets are lost before all are marked",
    };
    Ok(Some(format!(
        "switches with a buffer of {buffer} mark packets of ports of {rate} from queues of {kmin}, and all from {kmax}: \
         {what}, and {algorithm} hears of congestion by losses only; lower switch.ecn.kmin_per_gbps and kmax_per_gbps, or \
         enlarge switch.buffer"
    )))
}

/// A timeout within a round trip fires although nothing is lost.
fn timeout(loaded: &Loaded) -> Result<Option<String>, Error> {
    let Some(timeout) = loaded.scenario.transport.ack_timeout else {
        return Ok(None);
    };
    let round_trip = base_round_trip(loaded)?.time;
    Ok((timeout < round_trip).then(|| {
        format!(
            "transport.ack_timeout is {timeout}, less than a round trip of this fabric without queues, {round_trip}: packets \
             are sent again although none is lost"
        )
    }))
}

/// The time series has a longer interval than was asked for.
fn widened(stated: Option<Duration>, results: &Results) -> Option<String> {
    let series = match &results.chosen {
        Some(chosen) => &chosen.series,
        None => &results.series,
    };
    let (stated, came) = (stated?, series.interval);
    (came > stated).then(|| {
        format!(
            "the time series has intervals of {came} instead of {stated} (output.sample_interval): the run has more samples \
             than are kept"
        )
    })
}

/// Messages waited for timeouts for much of their time.
fn timeouts(scenario: &Scenario, results: &Results) -> Option<String> {
    let timeout = scenario.transport.ack_timeout?;
    let count = results.signals.timeouts.count;
    let end = results.totals.end;
    let taken: f64 = (results.messages.iter())
        .map(|message| {
            message
                .finish
                .unwrap_or(end)
                .saturating_since(message.start)
        })
        .map(Duration::as_secs_f64)
        .sum();
    let share = count as f64 * timeout.as_secs_f64() / taken;
    if count == 0 || share < DOMINATES {
        return None;
    }
    let drops = results.signals.drops.iter();
    let cause = match drops
        .max_by_key(|(_, drop)| drop.count)
        .filter(|(_, drop)| drop.count > 0)
    {
        Some((reason, drop)) => format!("{} packets were lost ({reason})", drop.count),
        None => "nothing was lost: acknowledgements came later than that".to_owned(),
    };
    Some(format!(
        "timeouts dominate: messages waited for {count} of {timeout} each (transport.ack_timeout), about {:.0} % of the time that \
         they took; {cause}",
        (share * 100.0).min(100.0)
    ))
}
