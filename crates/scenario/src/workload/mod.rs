//! What hosts send: kinds of workloads, each with its keys, its checks, its messages and its name in a file of its own.

mod all_to_all;
mod arrivals;
mod collective;
mod context;
mod flow;
mod flows;
mod incast;
mod key_value;
mod kind;
mod message;
mod messages;
mod permutation;
mod poisson;
mod program;
mod ranks;
mod ring_all_reduce;
mod steps;
mod traffic;
mod training;
mod verb;

use fairlane_units::Duration;

pub(crate) use self::kind::{Kind, Source};
pub(crate) use self::traffic::{Traffic, resolved};
use crate::congestion::CongestionOverride;
use crate::error::Error;
use crate::host_set::HostSet;
use crate::multipath::Connections;
use crate::section::kinds;

pub use self::arrivals::{Arrivals, LoadOf};
pub use self::context::{Context, Owner, RunRules};
pub use self::flow::Flow;
pub use self::kind::Figures;
pub use self::message::MessageSpec;
pub use self::messages::{MAX_MESSAGES, Messages, by_start};
pub use self::steps::{Planned, STEP, Step, Steps};
pub use self::verb::Verb;

/// Declares the enum of kinds, each with the module that has it.
macro_rules! workloads {
    ($($kind:ident($module:ident),)*) => {
        /// The tables of workloads.
        pub(crate) mod kinds {
            $(pub use super::$module::$kind;)*
        }

        $(use self::kinds::$kind;)*

        kinds! {
            /// What hosts send. Hosts are named by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
            #[expect(missing_docs, reason = "the type of each kind has it")]
            Workload { $($kind($kind),)* }
        }

        impl Workload {
            pub(crate) fn kind(&self) -> &dyn Kind {
                match self {
                    $(Self::$kind(it) => it,)*
                }
            }

            fn kind_mut(&mut self) -> &mut dyn Kind {
                match self {
                    $(Self::$kind(it) => it,)*
                }
            }
        }
    };
}

workloads! {
    Poisson(poisson),
    Incast(incast),
    Permutation(permutation),
    AllToAll(all_to_all),
    RingAllReduce(ring_all_reduce),
    Collective(collective),
    Training(training),
    Program(program),
    KeyValue(key_value),
    Flows(flows),
}

impl Workload {
    /// What each message is.
    pub fn verb(&self) -> Verb {
        self.kind().verb()
    }

    /// The name of the tenant that it belongs to, if it states one.
    pub fn tenant(&self) -> Option<&str> {
        self.kind().tenant()
    }

    /// The set of hosts that must be its tenant's, and its key; a list of messages has none.
    pub(crate) fn hosts(&self) -> Option<(&'static str, &HostSet)> {
        self.kind().hosts()
    }

    /// The name of its tenant, and the set of hosts that must be the tenant's.
    pub(crate) fn owner_mut(&mut self) -> (&mut Option<String>, Option<&mut HostSet>) {
        self.kind_mut().owner_mut()
    }

    /// The plane that its messages take, if it states one.
    pub fn plane(&self) -> Option<u8> {
        self.kind().plane()
    }

    /// The congestion control of its queue pairs, if it states one.
    pub fn congestion(&self) -> Option<&CongestionOverride> {
        self.kind().congestion()
    }

    /// How many paths each message has, if it is stated.
    pub fn paths(&self) -> Option<u32> {
        self.kind().paths()
    }

    /// Which of its messages share a connection, if it is stated.
    pub fn connections(&self) -> Option<Connections> {
        self.kind().connections()
    }

    /// How ranks send: channels of a communicator, and the time that a send takes its host; nothing for messages between
    /// hosts that aren't ranks.
    pub fn sends(&self) -> Option<(u32, Duration)> {
        self.kind().sends()
    }

    /// Whether its messages wait for each other as ranks of a program do.
    pub fn is_program(&self) -> bool {
        self.kind().is_program()
    }

    /// Whether its messages travel on connections that stay open.
    pub const fn is_key_value(&self) -> bool {
        matches!(self, Self::KeyValue(_))
    }

    /// What it offers to links, if its messages come at random times.
    ///
    /// # Errors
    /// If it names hosts that aren't there.
    pub fn arrivals(&self, context: &Context<'_>) -> Result<Option<Arrivals>, Error> {
        self.kind().arrivals(context)
    }

    /// Adds its messages, in any order, in a scenario that has been [validated](crate::validate).
    ///
    /// # Errors
    /// If a file of it hasn't been read, or if they are more than a run can hold.
    pub fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        self.kind().generate(context, messages)
    }

    /// What the report calls it.
    pub fn heading(&self, figures: &dyn Figures) -> String {
        self.kind().heading(figures)
    }
}
