//! What a tenant does to take more than its share.

use std::fmt;

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nic::is_default;
use crate::section::element;
use crate::types::HostSet;

/// The keys of attacks, as those of an [`element!`] but for all of them optional, and the kinds with their keys.
macro_rules! attack {
    (
        keys { $($(#[$key_doc:meta])* $key:ident $([$low:expr, $high:expr])?: $type:ty $(=> $rule:ident)?,)* }
        kinds { $($(#[$doc:meta])* $kind:ident $name:literal: $($has:ident)*,)* }
    ) => {
        element! {
            /// What a tenant does to take more than its share, or to harm others. docs/attacks.md describes each
            /// kind and says which keys it has; what is left out has the default that stands there. Kinds that don't
            /// cut messages are traffic of their own, which takes the place of the tenant's messages.
            Attack {
                /// Who attacks; left out, the first tenant.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                tenant: Option<String>,
                /// What the tenant does.
                kind: AttackKind,
                /// Whether the same hosts send as much honestly instead, for comparison.
                #[serde(default, skip_serializing_if = "is_default")]
                honest: bool,
                $(
                    $(#[$key_doc])*
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    $key $([$low, $high])?: Option<$type> $(=> $rule)?,
                )*
            }
        }

        impl Attack {
            /// An attack with every default.
            pub const fn new(kind: AttackKind) -> Self {
                Self { tenant: None, kind, honest: false, $($key: None,)* }
            }

            /// The keys that are stated, beside `tenant`, `kind` and `honest`.
            pub(crate) fn stated(&self) -> impl Iterator<Item = &'static str> {
                let all = [$((stringify!($key), self.$key.is_some()),)*];
                all.into_iter().filter_map(|(key, stated)| stated.then_some(key))
            }
        }

        /// What an attacker does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum AttackKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl AttackKind {
            /// Every kind.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// The name used in scenarios and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The keys that it has beside `tenant`, `kind` and `honest`.
            pub const fn keys(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$(stringify!($has)),*],)*
                }
            }
        }
    };
}

attack! {
    keys {
        /// Messages larger than this are cut: 1MB. `shuffled-overlay` cuts messages only if it is stated, and
        /// is traffic of its own otherwise.
        above: Bytes => message,
        /// Size of a piece, a message or a burst: the bandwidth-delay product.
        piece: Bytes => message,
        /// Queue pairs: equal parts of a message under `parallel`, instead of `piece`; of each host under
        /// `nic-hog`, 64, and `cache-flood`, four times what its NIC keeps.
        qps [1, 1 << 16]: u32,
        /// Time between two pieces of a message: the base round-trip time.
        gap: Duration => period,
        /// Rings in use at the same time, 1 to 4: 1.
        rings [1, 4]: u32,
        /// Bandwidth-delay products to each destination, 1 to 60, instead of `piece`: 1.
        bdps [1, 60]: u32,
        /// Pieces that a host, or each of its rings, has under way: 2. Under `rotating-incast` rounds: 1.
        outstanding [1, 1 << 10]: u32,
        /// Payload of each host: `paced` needs it.
        rate: Rate => rate,
        /// The host that pauses: the last of the tenant's.
        host: u32,
        /// How long one pause lasts: as long as the attack.
        pause: Duration => period,
        /// Time from burst to burst under `pulse`: after which the algorithm raises a rate again. From pause
        /// to pause under `pfc-storm`: there is one. From round to round under `rotating-incast`: as soon as
        /// `outstanding` allows.
        period: Duration => period,
        /// The size of every value: 64 B.
        value: Bytes => message,
        /// The hosts that send: those that the tenant's workloads send from.
        sources: HostSet,
        /// The hosts that receive: those of the tenant's that its workloads send to; under `cache-flood` those that don't ask.
        destinations: HostSet,
        /// When traffic of its own begins: at once.
        start: Duration => span,
        /// How long it goes on: until the run stops, or, if nothing stops it, until the last message of a
        /// workload is due. The run ends with it.
        duration: Duration => period,
    }
    kinds {
        /// Long messages are cut into pieces that are posted at once, each on a queue pair of its own.
        Parallel "parallel": above piece qps,
        /// Long messages are cut into pieces that are posted one after the other, each on a queue pair that
        /// has heard nothing of congestion yet.
        Staggered "staggered": above piece gap,
        /// Every piece goes to the successor on another ring over the tenant's hosts.
        ShuffledOverlay "shuffled-overlay": above piece rings outstanding start duration,
        /// Every host sends to one destination after the other.
        Churn "churn": bdps piece outstanding sources destinations start duration,
        /// All hosts send to the same destination, and then to another.
        RotatingIncast "rotating-incast": piece period outstanding sources destinations start duration,
        /// Bursts at line rate, as often as the victims' controllers have begun to recover.
        Pulse "pulse": piece period sources destinations start duration,
        /// A receiver pauses its switch while others send to it, so that pauses spread through the fabric.
        PfcStorm "pfc-storm": host pause period start duration,
        /// So many connections that NICs keep the state of none for anybody.
        CacheFlood "cache-flood": qps value sources destinations start duration,
        /// Many backlogged queue pairs on every host, for turns at the NIC.
        NicHog "nic-hog": qps sources destinations start duration,
        /// No attack: messages to random destinations at a fixed rate, which is what rotating destinations
        /// looks like without any intent.
        Paced "paced": rate piece sources destinations start duration,
    }
}

impl AttackKind {
    /// Whether it cuts messages without being asked to.
    const fn cuts(self) -> bool {
        matches!(self, Self::Parallel | Self::Staggered)
    }
}

impl fmt::Display for AttackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Attack {
    /// Whether it changes messages of the tenant's workloads, and isn't traffic of its own.
    pub const fn is_transform(&self) -> bool {
        match self.kind {
            AttackKind::ShuffledOverlay => self.above.is_some(),
            kind => kind.cuts(),
        }
    }

    /// The same tenant's attack of another kind: of the other keys, those stay that `kind` has and that
    /// mean the same under both.
    #[must_use]
    pub fn of_kind(&self, kind: AttackKind) -> Self {
        if kind == self.kind {
            return self.clone();
        }
        let keys = |key: &str| kind.keys().contains(&key) && self.kind.keys().contains(&key);
        Self {
            tenant: self.tenant.clone(),
            above: self.above.filter(|_| self.kind.cuts() && kind.cuts()),
            piece: self.piece.filter(|_| keys("piece")),
            outstanding: self.outstanding.filter(|_| keys("outstanding")),
            sources: self.sources.clone().filter(|_| keys("sources")),
            destinations: self.destinations.clone().filter(|_| keys("destinations")),
            start: self.start.filter(|_| keys("start")),
            duration: self.duration.filter(|_| keys("duration")),
            ..Self::new(kind)
        }
    }
}
