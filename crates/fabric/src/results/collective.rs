//! What results say of collectives.

use fairlane_program::{Algorithm, Kind};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, Time};

/// A collective, or all that the ranks of a workload do in one step of training.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRecord {
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The step of training, or the round; counted from 0.
    pub step: u32,
    /// Which collective; `None` for a whole step.
    pub kind: Option<Kind>,
    /// In which steps; `None` for a whole step.
    pub algorithm: Option<Algorithm>,
    /// What the program calls it; empty for no name.
    pub name: String,
    /// The number of its group among those of the workload.
    pub group: u32,
    /// Ranks that take part.
    pub ranks: u32,
    /// The vector; of an all-to-all what each rank sends, to itself too.
    pub size: Bytes,
    /// Payload of its messages.
    pub sent: Bytes,
    /// When the first rank began; of a whole step, not before the step before it had ended.
    pub start: Option<Time>,
    /// When the last rank began.
    pub ready: Option<Time>,
    /// When the last rank had done its part; `None` if one hasn't.
    pub end: Option<Time>,
    /// The rank that ended last, and its host.
    pub slowest: Option<(u32, NodeId)>,
    /// The message that it waited for last; `None` if it came too late itself.
    pub last: Option<MessageId>,
    /// The slowdown of that message.
    pub last_slowdown: Option<f64>,
}

impl CollectiveRecord {
    /// From the first beginning to the last end.
    pub fn time(&self) -> Option<Duration> {
        Some(self.end? - self.start?)
    }

    /// What it is called in results.
    pub const fn operation(&self) -> &'static str {
        match self.kind {
            None => "step",
            Some(kind) => kind.name(),
        }
    }

    /// What its algorithm is called in results.
    pub const fn algorithm_name(&self) -> &'static str {
        match self.algorithm {
            None | Some(Algorithm::Usual) => "",
            Some(algorithm) => algorithm.name(),
        }
    }

    /// Algorithm bandwidth as nccl-tests define it, in bits per second: size over time.
    pub fn algorithm_bandwidth(&self) -> Option<f64> {
        let time = self.time()?.as_secs_f64();
        let sized = !matches!(self.kind, None | Some(Kind::Barrier));
        (sized && time > 0.0).then(|| self.size.as_f64() * 8.0 / time)
    }

    /// Bus bandwidth as nccl-tests define it (doc/PERFORMANCE.md), in bits per second: what a link would carry under the best algorithm.
    pub fn bus_bandwidth(&self) -> Option<f64> {
        let ranks = f64::from(self.ranks);
        let factor = match self.kind? {
            Kind::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Kind::AllGather | Kind::ReduceScatter | Kind::AllToAll => (ranks - 1.0) / ranks,
            Kind::Broadcast { .. } | Kind::Reduce { .. } => 1.0,
            Kind::Barrier => return None,
        };
        Some(self.algorithm_bandwidth()? * factor)
    }
}
