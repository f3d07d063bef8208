//! What a kind of workload is: the contract that each implements, and the declaration of its keys.

use std::path::Path;

use fairlane_units::{Bytes, Duration, NodeId};

use super::arrivals::Arrivals;
use super::context::Context;
use super::flow::Flow;
use super::messages::Messages;
use super::traffic::Traffic;
use super::verb::Verb;
use crate::collective::TracePath;
use crate::congestion::CongestionOverride;
use crate::error::Error;
use crate::host_set::HostSet;
use crate::multipath::Connections;
use crate::section::Check;
use crate::sizes::Sizes;

/// What a kind of workload does, beside having [keys](Keys).
pub(crate) trait Kind: Keys {
    /// Checks what no rule of a single key says.
    ///
    /// # Errors
    /// The first mistake, at its key.
    fn check(&self, context: &Context<'_>) -> Check;

    /// The sizes of its messages; `None` if only the fabric knows them.
    fn sizes(&self, context: &Context<'_>) -> Option<StatedSizes>;

    /// What it has from a file, or could have.
    fn source(&self) -> Source<'_> {
        Source::Keys
    }

    /// Between whom its data flows, for guarantees of tenants; `None` if between any of its hosts.
    fn traffic(&self, _context: &Context<'_>) -> Option<Vec<Traffic>> {
        None
    }

    /// A host that posts beside those that must be its tenant's, and its key.
    fn posts(&self) -> Option<(&'static str, NodeId)> {
        None
    }

    /// What it offers to links, if its messages come at random times.
    ///
    /// # Errors
    /// If it names hosts that aren't there.
    fn arrivals(&self, _context: &Context<'_>) -> Result<Option<Arrivals>, Error> {
        Ok(None)
    }

    /// Whether it posts as the run goes, and ends by itself: such a one ends a run whose other ones don't.
    fn ends(&self) -> bool {
        false
    }

    /// Adds its messages, in any order. It has been [checked](Self::check).
    ///
    /// # Errors
    /// If a file of it hasn't been read, or if they are more than a run can hold.
    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error>;

    /// What the report calls it.
    fn heading(&self, figures: &dyn Figures) -> String;
}

/// What a workload has beside its keys, read before a run.
pub(crate) enum Source<'a> {
    /// Nothing.
    Keys,
    /// The distribution of its sizes, at key `sizes`.
    Sizes(&'a Sizes),
    /// Its messages, of a file at key `path`, or listed.
    Messages(Option<&'a Path>, &'a [Flow]),
    /// A trace, at key `path`.
    Trace(&'a TracePath),
}

/// How figures are written in headings.
pub trait Figures {
    /// A size, as the scenario has it.
    fn size(&self, size: Bytes) -> String;

    /// A part of 1 in percent.
    fn percent(&self, part: f64) -> String;
}

/// The sizes of a workload's messages, as it states them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatedSizes {
    /// The key.
    pub(crate) key: &'static str,
    pub(crate) smallest: Bytes,
    pub(crate) largest: Bytes,
}

impl StatedSizes {
    /// Messages of one size.
    pub(super) const fn one(size: Bytes) -> Self {
        Self {
            key: "size",
            smallest: size,
            largest: size,
        }
    }

    /// The sizes of a workload's distribution, once that has been read.
    pub(super) fn distribution(context: &Context<'_>) -> Option<Self> {
        let sizes = context.sizes().ok()?;
        let (first, last) = (sizes.points().first()?, sizes.points().last()?);
        Some(Self {
            key: "sizes",
            smallest: first.size,
            largest: last.size,
        })
    }
}

/// Keys that several kinds have; [`workload!`] implements it.
pub(crate) trait Keys {
    /// What each message is.
    fn verb(&self) -> Verb;

    /// The name of the tenant that it belongs to, if it states one.
    fn tenant(&self) -> Option<&str>;

    /// The set of hosts that must be its tenant's, and its key; a list of messages has none.
    fn hosts(&self) -> Option<(&'static str, &HostSet)>;

    /// The name of its tenant, and the set of hosts that must be the tenant's.
    fn owner_mut(&mut self) -> (&mut Option<String>, Option<&mut HostSet>);

    /// The plane that its messages take, if it states one.
    fn plane(&self) -> Option<u8>;

    /// The congestion control of its queue pairs, if it states one.
    fn congestion(&self) -> Option<&CongestionOverride>;

    /// How many paths each message has, if it is stated.
    fn paths(&self) -> Option<u32> {
        None
    }

    /// Which of its messages share a connection, if it is stated.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// How ranks send: channels of a communicator, and the time that a send takes its host; nothing for messages between
    /// hosts that aren't ranks.
    fn sends(&self) -> Option<(u32, Duration)> {
        None
    }

    /// Whether its messages wait for each other as ranks of a program do.
    fn is_program(&self) -> bool {
        false
    }
}

/// Declares the keys of a kind of workload: in brackets the key with hosts of the tenant, the kind's own keys as
/// [`element!`](crate::section::element) has them, behind `+` groups of keys that several kinds have, and `& paths` unless its
/// messages can't take several paths.
macro_rules! workload {
    (@ [$($head:tt)*] $keys:tt) => {
        $crate::section::element! { $($head)* $keys }
    };
    (@ $head:tt { $($own:tt)* } + class $($rest:tt)*) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// Traffic class.
            class: u8 = "crate::section::number::<3, u8>" => class,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + message $($rest:tt)*) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// What each message is.
            verb: $crate::workload::verb::Verb = "crate::workload::verb::Verb::default",
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + rank $($rest:tt)*) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// What each message is: `"write"` or `"send"`.
            verb: $crate::workload::verb::Verb = "crate::workload::verb::Verb::default",
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + sends $($rest:tt)*) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// Parallel connections from one rank to another. Each carries an equal part of every collective's vector,
            /// in steps of its own; sends of programs take them in turn.
            channels [1, $crate::workload::kind::MOST_CHANNELS]: u32 = "crate::section::number::<1, u32>",
            /// Time from when a message may be sent until its host hands it to the NIC.
            send_latency: fairlane_units::Duration = "fairlane_units::Duration::default" => span,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + owner $($rest:tt)*) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// Tenant that it belongs to; left out, the first.
            tenant: Option<String>,
            /// Plane of all its messages, from 0; left out, by a hash of each five-tuple.
            plane: Option<u8>,
            /// Congestion control of its queue pairs; left out, that of its tenant or of the fabric.
            #[serde(skip_serializing_if = "Option::is_none")]
            congestion: Option<Box<$crate::congestion::CongestionOverride>> => table,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } & paths) => {
        $crate::workload::kind::workload!(@ $head {
            $($own)*
            /// Paths of each message; left out, `multipath.paths`. Refused without `[multipath]`.
            paths [1, $crate::multipath::MOST]: Option<u32>,
            /// Which messages share a connection; left out, `multipath.connections`. If that isn't stated either,
            /// `"pair"` for kinds with `channels`, `"message"` for others and under `hpcc-ns3`.
            connections: Option<$crate::multipath::Connections>,
        });
    };
    (@method paths) => {
        fn paths(&self) -> Option<u32> {
            self.paths
        }

        fn connections(&self) -> Option<$crate::multipath::Connections> {
            self.connections
        }
    };
    (@method sends) => {
        fn sends(&self) -> Option<(u32, fairlane_units::Duration)> {
            Some((self.channels, self.send_latency))
        }
    };
    (@method rank) => {
        fn is_program(&self) -> bool {
            true
        }
    };
    (@method $other:ident) => {};
    (
        $(#[$doc:meta])*
        $kind:ident $([$hosts:ident])? { $($own:tt)* } $(+ $group:ident)* $(& $paths:ident)?
    ) => {
        $crate::workload::kind::workload!(@ [$(#[$doc])* $kind] { $($own)* } $(+ $group)* $(& $paths)?);

        impl $crate::workload::kind::Keys for $kind {
            fn verb(&self) -> $crate::workload::verb::Verb {
                self.verb
            }

            fn tenant(&self) -> Option<&str> {
                self.tenant.as_deref()
            }

            fn hosts(&self) -> Option<(&'static str, &$crate::host_set::HostSet)> {
                None$(.or(Some((stringify!($hosts), &self.$hosts))))?
            }

            fn owner_mut(&mut self) -> (&mut Option<String>, Option<&mut $crate::host_set::HostSet>) {
                (&mut self.tenant, None$(.or(Some(&mut self.$hosts)))?)
            }

            fn plane(&self) -> Option<u8> {
                self.plane
            }

            fn congestion(&self) -> Option<&$crate::congestion::CongestionOverride> {
                self.congestion.as_deref()
            }

            $($crate::workload::kind::workload!(@method $group);)*
            $($crate::workload::kind::workload!(@method $paths);)?
        }
    };
}

pub(crate) use workload;

/// Most channels of a communicator: `MAXCHANNELS` of NCCL 2.20.
pub(super) const MOST_CHANNELS: u32 = 64;
