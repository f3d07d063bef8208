//! Which path the next chunk takes. A balancer is a file of this module and a line in the list.

pub mod completion;
pub mod least_delay;
pub mod proportional;
mod quota;
pub mod reps;
pub mod round_robin;
pub mod spray;
pub mod static_even;
pub mod two_choices;

use fairlane_units::{Bytes, Time};

use crate::{Paths, Settings};

/// The tutorial compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/adding-a-balancer.md")]
struct Tutorial;

/// What a balancer gives to paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Chunks, as the limiter of the path says.
    Chunk,
    /// Packets: each is a work request with its own address, so that order doesn't matter.
    Packet,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The number of an open path.
    pub path: usize,
    /// The chunk has at most so many bytes, whatever the limiter says.
    pub at_most: Bytes,
}

impl Choice {
    /// A path, for as much as its limiter allows.
    pub const fn of(path: usize) -> Self {
        Self {
            path,
            at_most: Bytes::new(u64::MAX),
        }
    }
}

/// What a balancer hears of a chunk that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its path.
    pub path: usize,
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether it was delivered.
    pub delivered: bool,
    /// Whether a packet of it was marked.
    pub marked: bool,
}

/// How chunks are divided among the paths of a connection.
pub trait Balance: Clone {
    /// What it gives.
    const UNIT: Unit = Unit::Chunk;

    /// A connection before its first chunk.
    fn new(settings: &Settings, paths: usize, seed: u64) -> Self;

    /// The path of the next chunk, which must be open, or `None` to wait for a completion. `left` is what the
    /// message still has to give, this chunk included.
    fn choose(&mut self, now: Time, left: Bytes, paths: &Paths) -> Option<Choice>;

    /// The chunk has been posted: its path and size, after limiter and message have had their say.
    #[inline]
    fn on_posted(&mut self, _path: usize, _bytes: Bytes) {}

    /// A chunk has ended.
    #[inline]
    fn on_completion(&mut self, _now: Time, _report: &Report, _paths: &Paths) {}

    /// Which paths are usable has changed.
    fn on_change(&mut self, _now: Time, _paths: &Paths) {}

    /// Bytes of memory that it takes beside the value itself.
    fn heap(&self) -> usize {
        0
    }
}

/// Hands the list of balancers to a macro: `Type(module, name)` for each, with its documentation.
///
/// This is the only list of them. In its module a balancer has the type, which implements [`Balance`].
#[macro_export]
macro_rules! for_each_balancer {
    ($then:ident) => {
        $then! {
            /// The same number of bytes for every path.
            StaticEven(static_even, "static-even");
            /// Bytes in proportion to capacity (S3).
            Proportional(proportional, "proportional");
            /// A path earns its next chunk by completing one (S1).
            Completion(completion, "completion");
            /// The path on which the chunk would be there first.
            LeastDelay(least_delay, "least-delay");
            /// The better one of two random paths.
            TwoChoices(two_choices, "two-choices");
            /// One path after the other, whatever their state.
            RoundRobin(round_robin, "round-robin");
            /// A random path for every packet.
            Spray(spray, "spray");
            /// Packets go again where packets came through unmarked.
            Reps(reps, "reps");
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($module:ident, $name:literal);)*) => {
        crate::names::named! {
            /// How chunks are divided among paths.
            BalancerKind, "balancer";
            $($(#[$doc])* $variant = $name;)*
        }

        impl BalancerKind {
            /// What it gives to paths.
            pub const fn unit(self) -> Unit {
                match self {
                    $(Self::$variant => $module::$variant::UNIT,)*
                }
            }
        }

        /// The balancer of one connection, of any kind.
        #[derive(Clone, Debug)]
        pub(crate) enum Balancer {
            $($variant($module::$variant),)*
        }

        impl Balancer {
            pub(crate) fn new(settings: &Settings, paths: usize, seed: u64) -> Self {
                match settings.balancer {
                    $(BalancerKind::$variant => {
                        Self::$variant(Balance::new(settings, paths, seed))
                    })*
                }
            }

            #[inline]
            pub(crate) fn choose(&mut self, now: Time, left: Bytes, paths: &Paths) -> Option<Choice> {
                match self {
                    $(Self::$variant(it) => it.choose(now, left, paths),)*
                }
            }

            #[inline]
            pub(crate) fn on_posted(&mut self, path: usize, bytes: Bytes) {
                match self {
                    $(Self::$variant(it) => it.on_posted(path, bytes),)*
                }
            }

            #[inline]
            pub(crate) fn on_completion(&mut self, now: Time, report: &Report, paths: &Paths) {
                match self {
                    $(Self::$variant(it) => it.on_completion(now, report, paths),)*
                }
            }

            pub(crate) fn heap(&self) -> usize {
                match self {
                    $(Self::$variant(it) => it.heap(),)*
                }
            }

            pub(crate) fn on_change(&mut self, now: Time, paths: &Paths) {
                match self {
                    $(Self::$variant(it) => it.on_change(now, paths),)*
                }
            }
        }
    };
}

for_each_balancer!(define);
