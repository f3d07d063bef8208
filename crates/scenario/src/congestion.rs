//! Congestion control: the section of a scenario, with a table for each algorithm.

use fairlane_congestion::{
    Algorithm, Limit, Parameters, Params, Scope, WindowMode, for_each_algorithm,
};
use fairlane_units::Duration;

use crate::section::{element, section, words};

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($module:ident);)*) => {
        section! {
            /// Congestion control and its scope.
            Congestion {
                /// The algorithm.
                algorithm: Algorithm = Algorithm::Dcqcn,
                /// Traffic that shares one controller; under `hpcc-ns3` only `"qp"`.
                scope: Scope = Scope::Qp,
                /// Parameters of scope `tenant`.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                tenant: fairlane_congestion::scope::Config => parameters,
                /// Whether and how receivers apportion their links among those that send to them, above any algorithm.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                dasr: fairlane_congestion::dasr::Params => parameters,
                /// Limit on bytes in flight; left out, `"scaled"` for HPCC and DCTCP, else `"none"`. Swift, NSCC and
                /// PowerTCP also have a window of their own; the smaller one holds.
                window: Option<WindowMode>,
                /// Base round-trip time and bandwidth-delay product that controllers use.
                base_rtt: BaseRtt,
                /// Whether the rate paces packets; without, only the window limits.
                paced: bool = true,
                /// How receivers echo marks.
                notification: Notification,
                /// With `notification = "cnp"`: least time between two CNPs for one queue pair.
                ///
                /// Source: DCQCN (SIGCOMM 2015), section 3.1.
                cnp_interval: Duration = Duration::from_us(50) => period,
                $(
                    #[doc = concat!("Parameters of `", stringify!($module), "`.")]
                    $module: fairlane_congestion::$module::Config => parameters,
                )*
            }
        }

        element! {
            /// Congestion control of the queue pairs of a tenant or workload, in place of that of the fabric.
            CongestionOverride {
                /// The algorithm; `"fixed"` with `fixed.rate` is traffic at a constant rate.
                algorithm: Algorithm,
                /// Limit on bytes in flight; left out, that of the algorithm, as in `congestion.window`.
                window: Option<WindowMode>,
                $(
                    #[doc = concat!("Parameters of `", stringify!($module), "`; left out, those of `congestion.",
                        stringify!($module), "`.")]
                    #[serde(skip_serializing_if = "Option::is_none")]
                    $module: Option<fairlane_congestion::$module::Config> => stated_parameters,
                )*
            }
        }

        impl Congestion {
            /// This one with what a tenant or workload has in place of it.
            pub fn with(&self, own: &CongestionOverride) -> Self {
                Self {
                    // Without control of the others, one of its own is that of each queue pair.
                    scope: match self.scope {
                        Scope::None => Scope::Qp,
                        scope => scope,
                    },
                    algorithm: own.algorithm,
                    window: own.window,
                    $($module: own.$module.clone().unwrap_or_else(|| self.$module.clone()),)*
                    ..self.clone()
                }
            }

            /// The algorithm in force with its parameters.
            pub fn params(&self) -> Params {
                match self.algorithm {
                    $(Algorithm::$variant => self.$module.clone().into(),)*
                }
            }

            /// The tables of parameters by key, each with the rules of what it has by default.
            pub(crate) fn limits() -> impl Iterator<Item = (&'static str, Vec<Limit>)> {
                let default = Self::default();
                let own = [("tenant", default.tenant.limits()), ("dasr", default.dasr.limits())];
                own.into_iter().chain([$((stringify!($module), default.$module.limits()),)*])
            }
        }
    };
}

for_each_algorithm!(define);

macro_rules! define_tables {
    ($($(#[$doc:meta])* $variant:ident($module:ident);)*) => {
        impl CongestionOverride {
            /// The algorithms whose parameters it states.
            pub(crate) fn stated(&self) -> impl Iterator<Item = Algorithm> {
                let all = [$((Algorithm::$variant, self.$module.is_some()),)*];
                all.into_iter().filter_map(|(algorithm, stated)| stated.then_some(algorithm))
            }
        }
    };
}

for_each_algorithm!(define_tables);

words! {
    /// Whose base round-trip time and bandwidth-delay product a controller uses.
    BaseRtt = Global {
        /// The largest of all host pairs.
        Global "global",
        /// That of the two hosts.
        Pair "pair",
    }
}

words! {
    /// How receivers tell senders of marks.
    Notification = Ack {
        /// In the acknowledgement of a marked packet, as in HPCC's simulator.
        Ack "ack",
        /// By CNPs in the control class, which wait only for other control packets. For DCQCN and InfiniBand, and not under
        /// `hpcc-ns3`.
        Cnp "cnp",
    }
}

impl Congestion {
    /// What controls congestion, for headings.
    pub const fn title(&self) -> &'static str {
        match self.scope {
            Scope::None => "no congestion control",
            _ => self.algorithm.title(),
        }
    }

    /// How receivers apportion their links: what is stated, or what the scope asks for.
    pub fn apportioning(&self) -> fairlane_congestion::dasr::Params {
        self.tenant.apportioning(self.scope, &self.dasr)
    }

    /// The window mode in force: what is stated, else what the algorithm was published with.
    pub fn window_mode(&self) -> WindowMode {
        self.window.unwrap_or_else(|| self.algorithm.window())
    }
}
