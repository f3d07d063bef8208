//! What workloads of parallel programs are made of.

use std::path::PathBuf;

use fairlane_program::{Algorithm, Kind};
use fairlane_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::rules::{BYTE, LARGEST};
use crate::section::{element, number, words};

/// Parameters of a layer.
const MOST_PARAMETERS: u64 = 1 << 44;

words! {
    /// A collective operation.
    CollectiveKind {
        /// Every rank ends with the sum of all vectors.
        AllReduce "all-reduce",
        /// Every rank ends with the parts of all.
        AllGather "all-gather",
        /// Every rank ends with its part of the sum.
        ReduceScatter "reduce-scatter",
        /// Every rank sends a part to every other.
        AllToAll "all-to-all",
        /// One rank sends a vector to all.
        Broadcast "broadcast",
        /// One rank ends with the sum.
        Reduce "reduce",
        /// Nobody goes on before all have come.
        Barrier "barrier",
    }
}

impl CollectiveKind {
    /// The collective; `root` matters to those that have one.
    pub const fn program(self, root: u32) -> Kind {
        match self {
            Self::AllReduce => Kind::AllReduce,
            Self::AllGather => Kind::AllGather,
            Self::ReduceScatter => Kind::ReduceScatter,
            Self::AllToAll => Kind::AllToAll,
            Self::Broadcast => Kind::Broadcast { root },
            Self::Reduce => Kind::Reduce { root },
            Self::Barrier => Kind::Barrier,
        }
    }
}

words! {
    /// In which steps a collective is done.
    CollectiveAlgorithm = Usual {
        /// `ring` for all-reduce, all-gather and reduce-scatter, `tree` for broadcast, reduce and barrier, `direct` for all-to-all.
        Usual "usual",
        /// Around a ring.
        Ring "ring",
        /// Along a binomial tree.
        Tree "tree",
        /// Recursive halving and doubling.
        HalvingDoubling "halving-doubling",
        /// Within inner groups, then between them, then back.
        Hierarchical "hierarchical",
        /// To every other rank at once.
        Direct "direct",
    }
}

impl CollectiveAlgorithm {
    /// The algorithm; `inner` matters to `hierarchical`.
    pub const fn program(self, inner: u32) -> Algorithm {
        match self {
            Self::Usual => Algorithm::Usual,
            Self::Ring => Algorithm::Ring,
            Self::Tree => Algorithm::Tree,
            Self::HalvingDoubling => Algorithm::HalvingDoubling,
            Self::Hierarchical => Algorithm::Hierarchical { inner },
            Self::Direct => Algorithm::Direct,
        }
    }
}

/// How many of `count` hosts each of so many equal groups has: two or more.
///
/// # Errors
/// If they can't be divided so; `place` says where the key `groups` is.
pub fn hosts_of_group(
    count: u32,
    groups: u32,
    place: impl FnOnce() -> String,
) -> Result<u32, Error> {
    let each = count.checked_div(groups).unwrap_or(0);
    ensure!(each >= 2 && each * groups == count, place(),
        "is {groups} of {count} hosts, expected equal groups of 2 or more";
        "name other hosts, or other groups");
    Ok(each)
}

/// How many data ranks a model has that `count` hosts train, by its tensor, pipeline and expert ranks.
///
/// # Errors
/// If the hosts can't be divided so; `place` says where a key of the workload is.
pub fn data_ranks(
    count: u32,
    [tensor, pipeline, expert]: [u32; 3],
    place: impl FnOnce(&str) -> String,
) -> Result<u32, Error> {
    let share = tensor.saturating_mul(pipeline);
    ensure!(count >= 2 && count.is_multiple_of(share), place("hosts"),
        "has {count}, expected 2 or more, a multiple of {share}: tensor times pipeline";
        "name more or fewer hosts");
    let data = count / share;
    ensure!(data.is_multiple_of(expert), place("expert"),
        "is {expert}, expected a divisor of {data}, the number of data ranks";
        "name other hosts, or another number");
    Ok(data)
}

element! {
    /// A layer of a model, or several alike.
    Layer {
        /// Equal layers.
        #[serde(skip_serializing_if = "crate::optional::is_one")]
        #[schemars(extend("default" = 1))]
        count: u32 = "number::<1, u32>" => positive,
        /// Parameters of each, which tensor ranks share.
        parameters [0, MOST_PARAMETERS]: u64,
        /// Bytes that it passes on per micro-batch, which tensor ranks reduce.
        activation: Bytes => within(BYTE, LARGEST),
        /// Computation per micro-batch.
        forward: Duration => span,
        /// Computation of its gradients.
        backward: Duration => span,
        /// Tokens that a rank sends to experts per micro-batch, and gets back.
        routed: Bytes = "Bytes::default" => within(Bytes::ZERO, LARGEST),
    }
}

words! {
    /// The format of a trace.
    TraceFormat {
        /// A GOAL schedule in text.
        Goal "goal",
        /// Chakra execution traces, a file for each rank.
        Chakra "chakra",
    }
}

impl TracePath {
    /// The first file, as it is written.
    pub fn name(&self) -> String {
        let first = match self {
            Self::One(path) => Some(path),
            Self::Each(paths) => paths.first(),
        };
        first.map_or_else(String::new, |path| path.display().to_string())
    }
}

/// A file, or those of all ranks; a path may stand for several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a file, or a list of files")]
pub enum TracePath {
    /// One path.
    One(PathBuf),
    /// Several, in any order: the names of the files end in their ranks.
    Each(Vec<PathBuf>),
}
