//! One run in a few figures.

use fairlane_units::{Bytes, Time};
use serde::Serialize;

use super::goodput::Goodput;
use super::multipath::MultipathSummary;
use super::slowdown::slowdown;
use super::statistics::{Spread, completion, nanoseconds};
use super::tenants::Tenancy;
use crate::{ApplicationRecord, Ending, Flux, MessageRecord, Outcome, RealTime, Results};

/// What a run amounts to. Everything here is simulated, so that equal runs have equal summaries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// `complete`, `stopped`, `interrupted`, `stalled` or `failed`.
    pub ending: &'static str,
    /// Why the run stalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<String>,
    /// Simulated time of the first message.
    pub first_start_ns: f64,
    /// Simulated time at the end.
    pub end_ns: f64,
    /// Interval of the time series, `ports.parquet`.
    pub sample_interval_ns: f64,
    /// Messages.
    pub messages: usize,
    /// Messages acknowledged to the last byte.
    pub completed: usize,
    /// Messages that were under way at the end.
    pub unfinished: usize,
    /// Messages whose queue pair gave up.
    pub failed: usize,
    /// Payload of all messages.
    pub bytes: u64,
    /// Payload of completed messages.
    pub completed_bytes: u64,
    /// Payload placed at receivers, of messages that aren't complete too.
    pub placed_bytes: u64,
    /// Payload placed from the first to the last post of a message, over this time: [`Goodput::of`]. If messages come as
    /// one batch, equal to `goodput_run_gbps`.
    pub goodput_gbps: f64,
    /// The time that `goodput_gbps` is over.
    pub goodput_ns: f64,
    /// `placed_bytes` over the time from the first start to the end of the run.
    pub goodput_run_gbps: f64,
    /// As `goodput_gbps`, without the first and the last tenth of its time.
    pub goodput_steady_gbps: Option<f64>,
    /// Data packets that left their sender, retransmissions included.
    pub data_packets: u64,
    /// Packets put on links, once per hop, pause frames included.
    pub transmissions: u64,
    /// Data packets and acknowledgements put on links, once per hop.
    pub message_transmissions: u64,
    /// Events handled.
    pub events: u64,
    /// Completion time over ideal time, of completed messages.
    pub slowdown: Option<Spread>,
    /// Completion time over the standalone time of HPCC's text format, of completed messages.
    pub standalone_slowdown: Option<Spread>,
    /// Completion times of completed messages.
    pub completion_ns: Option<Spread>,
    /// Deepest queue of any switch port at any time.
    pub queue_max_bytes: u64,
    /// Round-trip time without queues, the largest of all host pairs.
    pub base_rtt_ns: f64,
    /// Bandwidth-delay product, the largest of all host pairs.
    pub bdp_bytes: u64,
    /// What entered the fabric at hosts.
    pub injected: Flux,
    /// What left the fabric at hosts.
    pub delivered: Flux,
    /// What was lost.
    pub dropped: Flux,
    /// What was still under way at the end.
    pub in_flight: Flux,
    /// The messages of each workload that has any.
    pub workloads: Vec<WorkloadSummary>,
    /// Applications of `key-value` workloads, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationSummary>,
    /// Connections with several paths, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipath: Option<MultipathSummary>,
    /// How a run in real time kept up with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_time: Option<RealTime>,
    /// Tenants, if there are several.
    #[serde(flatten)]
    pub tenancy: Option<Tenancy>,
}

/// An application of a `key-value` workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationSummary {
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The node that it runs on.
    pub node: u32,
    /// Number among those of its workload and host.
    pub number: u32,
    /// Operations completed.
    pub operations: u64,
    /// Their payload.
    pub bytes: u64,
    /// The longest time from the posting of an operation until the NIC began it.
    pub longest_wait_ns: f64,
    /// Under policy `drum`: the most epochs that the first of its waiting work requests has waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait_epochs: Option<u64>,
    /// What that may be at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_bound_epochs: Option<u64>,
}

/// The messages of one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadSummary {
    /// Index of the workload in the scenario.
    pub workload: u32,
    /// Messages.
    pub messages: usize,
    /// Messages acknowledged to the last byte.
    pub completed: usize,
    /// Payload of all messages.
    pub bytes: u64,
    /// Completion time over ideal time, of completed messages.
    pub slowdown: Option<Spread>,
    /// Completion times of completed messages.
    pub completion_ns: Option<Spread>,
}

impl Summary {
    /// Sums up a run.
    pub fn of(results: &Results) -> Self {
        let messages: Vec<&MessageRecord> = results.messages.iter().collect();
        let (totals, goodput) = (&results.totals, Goodput::of(results));
        let stall = match &totals.ending {
            Ending::Stalled(stall) => Some(stall.reason.clone()),
            Ending::Complete | Ending::Stopped | Ending::Interrupted | Ending::Failed => None,
        };
        Self {
            ending: ending(&totals.ending),
            stall,
            first_start_ns: nanoseconds(totals.first_start - Time::ZERO),
            end_ns: nanoseconds(totals.end - Time::ZERO),
            sample_interval_ns: nanoseconds(results.series.interval),
            messages: messages.len(),
            completed: count(&messages, Outcome::Completed),
            unfinished: count(&messages, Outcome::Unfinished),
            failed: failed(&messages),
            bytes: payload(&messages).get(),
            completed_bytes: completed_bytes(&messages).get(),
            placed_bytes: results.tenants.iter().map(|it| it.placed.get()).sum(),
            goodput_gbps: goodput.gbps,
            goodput_ns: nanoseconds(goodput.over),
            goodput_run_gbps: Goodput::of_run(results).gbps,
            goodput_steady_gbps: Goodput::steady(results).map(|steady| steady.gbps),
            data_packets: totals.data_packets,
            transmissions: totals.transmissions,
            message_transmissions: totals.message_transmissions,
            events: totals.events,
            slowdown: spread(&messages, |message| slowdown(message, message.ideal)),
            standalone_slowdown: spread(&messages, |message| slowdown(message, message.standalone)),
            completion_ns: spread(&messages, |message| completion(message).map(nanoseconds)),
            queue_max_bytes: totals.queue_max.get(),
            base_rtt_ns: nanoseconds(totals.base_rtt),
            bdp_bytes: totals.bdp.get(),
            injected: totals.injected,
            delivered: totals.delivered,
            dropped: totals.dropped,
            in_flight: totals.in_flight,
            workloads: workloads(messages),
            applications: results.applications.iter().map(application).collect(),
            multipath: MultipathSummary::of(results),
            real_time: results.real_time,
            tenancy: Tenancy::of(results),
        }
    }
}

/// The time from the first start to the end of the run.
pub(super) fn span_ns(results: &Results) -> f64 {
    let totals = &results.totals;
    nanoseconds(totals.end.saturating_since(totals.first_start))
}

fn ending(ending: &Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Stopped => "stopped",
        Ending::Interrupted => "interrupted",
        Ending::Stalled(_) => "stalled",
        Ending::Failed => "failed",
    }
}

fn application(record: &ApplicationRecord) -> ApplicationSummary {
    ApplicationSummary {
        workload: record.workload,
        node: record.host.get(),
        number: record.number,
        operations: record.operations,
        bytes: record.bytes.get(),
        longest_wait_ns: nanoseconds(record.longest_wait),
        longest_wait_epochs: record.longest_wait_epochs,
        wait_bound_epochs: record.wait_bound_epochs,
    }
}

fn workloads(mut messages: Vec<&MessageRecord>) -> Vec<WorkloadSummary> {
    messages.sort_by_key(|message| message.workload);
    messages
        .chunk_by(|a, b| a.workload == b.workload)
        .map(workload)
        .collect()
}

/// Sums up the messages of one workload, of which there is at least one.
fn workload(messages: &[&MessageRecord]) -> WorkloadSummary {
    WorkloadSummary {
        workload: messages[0].workload,
        messages: messages.len(),
        completed: count(messages, Outcome::Completed),
        bytes: payload(messages).get(),
        slowdown: spread(messages, |message| slowdown(message, message.ideal)),
        completion_ns: spread(messages, |message| completion(message).map(nanoseconds)),
    }
}

pub(super) fn count(messages: &[&MessageRecord], outcome: Outcome) -> usize {
    messages
        .iter()
        .filter(|message| message.outcome == outcome)
        .count()
}

fn failed(messages: &[&MessageRecord]) -> usize {
    let outcomes = messages.iter().map(|message| message.outcome);
    outcomes.filter(|outcome| outcome.is_failure()).count()
}

pub(super) fn payload(messages: &[&MessageRecord]) -> Bytes {
    messages.iter().map(|message| message.size).sum()
}

pub(super) fn completed_bytes(messages: &[&MessageRecord]) -> Bytes {
    let completed = messages.iter().filter(|message| message.finish.is_some());
    completed.map(|message| message.size).sum()
}

pub(super) fn spread(
    messages: &[&MessageRecord],
    figure: impl Fn(&MessageRecord) -> Option<f64>,
) -> Option<Spread> {
    Spread::of(
        messages
            .iter()
            .filter_map(|message| figure(message))
            .collect(),
    )
}
