//! The list of algorithms, and what follows from it: their names, parameters and controllers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use fairlane_units::{Bytes, Rate, Time};

use crate::{
    Ack, CongestionControl, Environment, Limit, Loss, Marking, Needs, Parameters, Timers,
    WindowMode,
};

/// Hands the list of algorithms to a macro: `Type(module)` for each, with its documentation.
///
/// This is the only list of them. In its module an algorithm has a `Config` and the type, which
/// implements [`CongestionControl`]; the module's name is the name in scenarios and results.
#[macro_export]
macro_rules! for_each_algorithm {
    ($then:ident) => {
        $then! {
            /// A constant rate, deaf to the network.
            Fixed(fixed);
            /// DCQCN: marks from switches, timers at the sender.
            Dcqcn(dcqcn);
            /// DCTCP: the share of marked packets, once per round trip.
            Dctcp(dctcp);
            /// TIMELY: the gradient of round-trip times.
            Timely(timely);
            /// Swift: a target for the delay of the fabric.
            Swift(swift);
            /// NSCC of Ultra Ethernet: marks and delays, for packets on all paths.
            Nscc(nscc);
            /// HPCC: in-band telemetry from every hop.
            Hpcc(hpcc);
            /// PowerTCP: telemetry, with the trend of queues.
            PowerTcp(powertcp);
            /// The congestion control of InfiniBand: FECN, BECN, a table of delays.
            InfiniBand(infiniband);
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($module:ident);)*) => {
        /// A congestion control algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
        pub enum Algorithm {
            $($(#[$doc])* $variant,)*
        }

        impl Algorithm {
            /// Every algorithm.
            pub const ALL: [Self; [$(stringify!($module)),*].len()] = [$(Self::$variant),*];

            /// The name used in scenarios and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($module),)*
                }
            }

            /// The name as its authors write it.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => crate::$module::$variant::TITLE,)*
                }
            }

            /// What it can't do without.
            pub const fn needs(self) -> Needs {
                match self {
                    $(Self::$variant => crate::$module::$variant::NEEDS,)*
                }
            }

            /// The limit on bytes in flight that it was published with, beside its own.
            pub const fn window(self) -> WindowMode {
                match self {
                    $(Self::$variant => crate::$module::$variant::WINDOW,)*
                }
            }

            /// The marking that it was published with.
            pub const fn marking(self) -> Marking {
                match self {
                    $(Self::$variant => crate::$module::$variant::MARKING,)*
                }
            }
        }

        /// One algorithm with its parameters, shared by all its controllers.
        #[derive(Clone, Debug)]
        pub enum Params {
            $($(#[$doc])* $variant(Arc<crate::$module::Config>),)*
        }

        impl Params {
            /// The algorithm with its default parameters.
            pub fn new(algorithm: Algorithm) -> Self {
                match algorithm {
                    $(Algorithm::$variant => Self::$variant(Arc::default()),)*
                }
            }

            /// The rules that its parameters must satisfy.
            pub fn limits(&self) -> Vec<Limit> {
                match self {
                    $(Self::$variant(config) => config.limits(),)*
                }
            }

            /// The algorithm.
            pub const fn algorithm(&self) -> Algorithm {
                match self {
                    $(Self::$variant(_) => Algorithm::$variant,)*
                }
            }
        }

        #[cfg(feature = "serde")]
        impl Params {
            /// Writes the parameters as the table of a scenario has them.
            ///
            /// # Errors
            /// As `serializer` does.
            pub fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(config) => serde::Serialize::serialize(&**config, serializer),)*
                }
            }

            /// Reads parameters of an algorithm.
            ///
            /// # Errors
            /// As `deserializer` does, and for keys that the algorithm hasn't.
            pub fn deserialize<'de, D: serde::Deserializer<'de>>(
                algorithm: Algorithm,
                deserializer: D,
            ) -> Result<Self, D::Error> {
                Ok(match algorithm {
                    $(Algorithm::$variant => {
                        let config: crate::$module::Config =
                            serde::Deserialize::deserialize(deserializer)?;
                        config.into()
                    })*
                })
            }
        }

        $(impl From<crate::$module::Config> for Params {
            fn from(config: crate::$module::Config) -> Self {
                Self::$variant(Arc::new(config))
            }
        })*

        /// The state of one controller of any algorithm; see [`CongestionControl`] for its methods.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[$doc])* $variant(crate::$module::$variant),)*
        }

        impl Controller {
            /// A controller before its first packet.
            pub fn new(params: &Params, environment: &Environment) -> Self {
                match params {
                    $(Params::$variant(config) => {
                        Self::$variant(CongestionControl::new(config.clone(), environment))
                    })*
                }
            }

            /// The sending rate now.
            #[inline]
            pub fn rate(&self) -> Rate {
                match self {
                    $(Self::$variant(state) => state.rate(),)*
                }
            }

            /// A packet may be sent while fewer bytes than this are in flight, if the algorithm says.
            #[inline]
            pub fn window(&self) -> Option<Bytes> {
                match self {
                    $(Self::$variant(state) => state.window(),)*
                }
            }

            /// Hears an acknowledgement; returns whether the time of a packet that is already paced
            /// must follow the new rate (see [`Pacer::on_rate_change`](crate::Pacer::on_rate_change)).
            #[inline]
            pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
                match self {
                    $(Self::$variant(state) => state.on_ack(now, ack),)*
                }
            }

            /// Hears a notification that travels apart from acknowledgements (CNP, BECN).
            pub fn on_cnp(&mut self, now: Time) {
                match self {
                    $(Self::$variant(state) => state.on_cnp(now),)*
                }
            }

            /// Hears that packets were lost and sending goes back.
            pub fn on_loss(&mut self, now: Time, loss: Loss) {
                match self {
                    $(Self::$variant(state) => state.on_loss(now, loss),)*
                }
            }

            /// Fires `timer`, which is due at `now`.
            pub fn on_timer(&mut self, now: Time, timer: usize) {
                match self {
                    $(Self::$variant(state) => state.on_timer(now, timer),)*
                }
            }

            /// The deadlines.
            pub fn timers(&self) -> &Timers {
                match self {
                    $(Self::$variant(state) => state.timers(),)*
                }
            }

            /// The timers that changed since the last call, as a bit set.
            #[inline]
            pub fn take_changed_timers(&mut self) -> u8 {
                match self {
                    $(Self::$variant(state) => state.take_changed_timers(),)*
                }
            }
        }

        /// Controllers of one algorithm by index, without the room that the largest algorithm takes.
        #[derive(Clone, Debug)]
        pub(crate) enum Controllers {
            $($variant(Vec<crate::$module::$variant>, Arc<crate::$module::Config>),)*
        }

        impl Controllers {
            pub(crate) fn new(params: &Params) -> Self {
                match params {
                    $(Params::$variant(config) => Self::$variant(Vec::new(), config.clone()),)*
                }
            }

            /// Adds a controller before its first packet.
            pub(crate) fn push(&mut self, environment: &Environment) {
                match self {
                    $(Self::$variant(all, config) => {
                        all.push(CongestionControl::new(config.clone(), environment));
                    })*
                }
            }

            #[inline]
            pub(crate) fn rate(&self, at: usize) -> Rate {
                match self {
                    $(Self::$variant(all, _) => all[at].rate(),)*
                }
            }

            #[inline]
            pub(crate) fn window(&self, at: usize) -> Option<Bytes> {
                match self {
                    $(Self::$variant(all, _) => all[at].window(),)*
                }
            }

            #[inline]
            pub(crate) fn on_ack(&mut self, at: usize, now: Time, ack: &Ack<'_>) -> bool {
                match self {
                    $(Self::$variant(all, _) => all[at].on_ack(now, ack),)*
                }
            }

            pub(crate) fn on_cnp(&mut self, at: usize, now: Time) {
                match self {
                    $(Self::$variant(all, _) => all[at].on_cnp(now),)*
                }
            }

            pub(crate) fn on_loss(&mut self, at: usize, now: Time, loss: Loss) {
                match self {
                    $(Self::$variant(all, _) => all[at].on_loss(now, loss),)*
                }
            }

            /// Fires the deadlines of a controller until `now`, in order and each at its own time, as
            /// timers would have done; returns whether there were any.
            ///
            /// Nothing fires them in between: timers are evaluated lazily, so that whoever sends under a
            /// controller or hears something for it advances it first.
            #[inline]
            pub(crate) fn advance(&mut self, at: usize, now: Time) -> bool {
                let mut fired = false;
                match self {
                    $(Self::$variant(all, _) => {
                        let one = &mut all[at];
                        while let Some((timer, due)) = one.timers().next() {
                            if due > now {
                                break;
                            }
                            one.on_timer(due, timer);
                            fired = true;
                        }
                    })*
                }
                fired
            }
        }
    };
}

for_each_algorithm!(define);

const _: () = assert!(size_of::<Controller>() <= 176);

impl Controller {
    /// Fires the deadline that [`Timers::next`] returned.
    pub fn on_deadline(&mut self, (timer, deadline): (usize, Time)) {
        self.on_timer(deadline, timer);
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(UnknownAlgorithm)
    }
}

/// No algorithm has this name; [`Algorithm::ALL`] lists those that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown congestion control; known:")?;
        Algorithm::ALL
            .iter()
            .try_for_each(|known| write!(f, " {known}"))
    }
}

impl core::error::Error for UnknownAlgorithm {}
