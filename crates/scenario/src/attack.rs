//! What a tenant does to take more than its share.

use fairlane_units::{Bytes, Duration, Rate};

use crate::nic::is_default;
use crate::section::{element, words};
use crate::types::HostSet;

/// The keys of attacks, as those of an [`element!`] but for all of them optional, and the kinds with their keys.
macro_rules! attack {
    (
        keys { $($(#[$key_doc:meta])* $key:ident $([$low:expr, $high:expr])?: $type:ty $(=> $rule:ident)?,)* }
        kinds { $($(#[$doc:meta])* $kind:ident $name:literal: $($has:ident)*,)* }
    ) => {
        element! {
            /// What a tenant does to take more than its share, or to harm others; docs/attacks.md describes each kind. Kinds
            /// that don't cut messages are traffic of their own, which takes the place of the tenant's messages.
            Attack {
                /// The attacker; left out, the first tenant.
                tenant: Option<String>,
                /// What it does.
                kind: AttackKind,
                /// Whether the same hosts send as much honestly instead.
                #[serde(default, skip_serializing_if = "is_default")]
                #[schemars(extend("default" = false))]
                honest: bool,
                $(
                    $(#[$key_doc])*
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

        words! {
            /// What an attacker does.
            AttackKind {
                $($(#[$doc])* #[doc = concat!("Keys: ", stringify!($($has),*), ".")] $kind $name,)*
            }
        }

        impl AttackKind {
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
        /// Larger messages are cut; left out, 1 MB. Without it `shuffled-overlay` cuts none, and sends traffic of its
        /// own.
        above: Bytes => message,
        /// Size of a piece, burst or message; left out, the fabric's largest bandwidth-delay product.
        piece: Bytes => message,
        /// Under `parallel`, number of equal parts, instead of `piece`. Queue pairs of each host under `nic-hog`, left
        /// out 64; connections under `cache-flood`, left out four times `nic.costs.cache_entries`.
        qps [1, 1 << 16]: u32,
        /// Time between two pieces; left out, the largest base round-trip time.
        gap: Duration => period,
        /// Rings in use at a time; left out, 1.
        rings [1, 4]: u32,
        /// Bandwidth-delay products to each destination, instead of `piece`; left out, 1.
        bdps [1, 60]: u32,
        /// Pieces under way per host, or per ring of it, left out 2; rounds under `rotating-incast`, left out 1.
        outstanding [1, 1 << 10]: u32,
        /// Payload rate of each host; `paced` needs it.
        rate: Rate => rate,
        /// The host that pauses; left out, the tenant's last.
        host: u32,
        /// Length of a pause; left out, as long as the attack.
        pause: Duration => period,
        /// Time from burst to burst under `pulse`, at most as long as the attack; left out, the longest period among the
        /// algorithm's parameters, at least eight base round-trip times. From pause to pause under `pfc-storm`, more than
        /// `pause` and than two pause frames take on the host's link; left out, one pause only. Least time from round to
        /// round under `rotating-incast`; left out, none.
        period: Duration => period,
        /// Size of every value; left out, 64 B.
        value: Bytes => message,
        /// Hosts of the tenant that send; left out, those that its workloads send from.
        sources: HostSet,
        /// Hosts that receive; left out, those of the tenant's that its workloads send to. Hosts read from under
        /// `cache-flood`; left out, all others.
        destinations: HostSet,
        /// When traffic of its own begins; left out, at 0.
        start: Duration => span,
        /// How long it goes on; left out, until the scenario's `stop`, else until the last message of a workload is due.
        duration: Duration => period,
    }
    kinds {
        /// Cuts long messages into pieces, all posted at once, each on its own queue pair.
        Parallel "parallel": above piece qps,
        /// Cuts long messages into pieces, `gap` apart, each on a fresh queue pair.
        Staggered "staggered": above piece gap,
        /// Sends each piece over another ring of the tenant's hosts.
        ShuffledOverlay "shuffled-overlay": above piece rings outstanding start duration,
        /// Every host sends to one destination, then to another.
        Churn "churn": bdps piece outstanding sources destinations start duration,
        /// All hosts send to one destination, then to another.
        RotatingIncast "rotating-incast": piece period outstanding sources destinations start duration,
        /// Bursts at line rate, one per step of the victims' recovery.
        Pulse "pulse": piece period sources destinations start duration,
        /// A host pauses its switch while the tenant's others send to it, so that pauses spread.
        PfcStorm "pfc-storm": host pause period start duration,
        /// More connections than NICs cache.
        CacheFlood "cache-flood": qps value sources destinations start duration,
        /// Many backlogged queue pairs on every host, for turns at the NIC.
        NicHog "nic-hog": qps sources destinations start duration,
        /// No attack: messages to random destinations at a fixed rate, the honest control for rotating attacks.
        Paced "paced": rate piece sources destinations start duration,
    }
}

impl AttackKind {
    /// Whether it cuts messages without being asked to.
    const fn cuts(self) -> bool {
        matches!(self, Self::Parallel | Self::Staggered)
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
