//! What a tenant does to take more than its share.

use std::fmt;

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nic::is_default;
use crate::types::HostSet;

/// What a tenant does to take more than its share, or to harm others. docs/attacks.md describes each
/// kind and says which keys it has; what is left out has the default that stands there. Kinds that don't
/// cut messages are traffic of their own, which takes the place of the tenant's messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attack {
    /// Who attacks; left out, the first tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What the tenant does.
    pub kind: AttackKind,
    /// Whether the same hosts send as much honestly instead, for comparison.
    #[serde(default, skip_serializing_if = "is_default")]
    pub honest: bool,
    /// Messages larger than this are cut: 1MB. `shuffled-overlay` cuts messages only if it is stated, and
    /// is traffic of its own otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Bytes>,
    /// Size of a piece, a message or a burst: the bandwidth-delay product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Bytes>,
    /// Queue pairs: equal parts of a message under `parallel`, instead of `piece`; of each host under
    /// `nic-hog`, 64, and `cache-flood`, four times what its NIC keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qps: Option<u32>,
    /// Time between two pieces of a message: the base round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// Rings in use at the same time, 1 to 4: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<u32>,
    /// Bandwidth-delay products to each destination, 1 to 60, instead of `piece`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bdps: Option<u32>,
    /// Pieces that a host, or each of its rings, has under way: 2. Under `rotating-incast` rounds: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u32>,
    /// Payload of each host: `paced` needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The host that pauses: the last of the tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u32>,
    /// How long one pause lasts: as long as the attack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
    /// Time from burst to burst under `pulse`: after which the algorithm raises a rate again. From pause
    /// to pause under `pfc-storm`: there is one. From round to round under `rotating-incast`: as soon as
    /// `outstanding` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// The size of every value: 64 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bytes>,
    /// The hosts that send: those that the tenant's workloads send from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<HostSet>,
    /// The hosts that receive: those of the tenant's that its workloads send to; under `cache-flood` those that don't ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<HostSet>,
    /// When traffic of its own begins: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Duration>,
    /// How long it goes on: until the run stops, or, if nothing stops it, until the last message of a
    /// workload is due. The run ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttackKind {
    /// Long messages are cut into pieces that are posted at once, each on a queue pair of its own.
    Parallel,
    /// Long messages are cut into pieces that are posted one after the other, each on a queue pair that
    /// has heard nothing of congestion yet.
    Staggered,
    /// Every piece goes to the successor on another ring over the tenant's hosts.
    ShuffledOverlay,
    /// Every host sends to one destination after the other.
    Churn,
    /// All hosts send to the same destination, and then to another.
    RotatingIncast,
    /// Bursts at line rate, as often as the victims' controllers have begun to recover.
    Pulse,
    /// A receiver pauses its switch while others send to it, so that pauses spread through the fabric.
    PfcStorm,
    /// So many connections that NICs keep the state of none for anybody.
    CacheFlood,
    /// Many backlogged queue pairs on every host, for turns at the NIC.
    NicHog,
    /// No attack: messages to random destinations at a fixed rate, which is what rotating destinations
    /// looks like without any intent.
    Paced,
}

impl AttackKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Parallel,
        Self::Staggered,
        Self::ShuffledOverlay,
        Self::Churn,
        Self::RotatingIncast,
        Self::Pulse,
        Self::PfcStorm,
        Self::CacheFlood,
        Self::NicHog,
        Self::Paced,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Staggered => "staggered",
            Self::ShuffledOverlay => "shuffled-overlay",
            Self::Churn => "churn",
            Self::RotatingIncast => "rotating-incast",
            Self::Pulse => "pulse",
            Self::PfcStorm => "pfc-storm",
            Self::CacheFlood => "cache-flood",
            Self::NicHog => "nic-hog",
            Self::Paced => "paced",
        }
    }

    /// The keys that it has beside `tenant`, `kind` and `honest`.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Parallel => &["above", "piece", "qps"],
            Self::Staggered => &["above", "piece", "gap"],
            Self::ShuffledOverlay => &[
                "above",
                "piece",
                "rings",
                "outstanding",
                "start",
                "duration",
            ],
            Self::Churn => &[
                "bdps",
                "piece",
                "outstanding",
                "sources",
                "destinations",
                "start",
                "duration",
            ],
            Self::RotatingIncast => &[
                "piece",
                "period",
                "outstanding",
                "sources",
                "destinations",
                "start",
                "duration",
            ],
            Self::Pulse => &[
                "piece",
                "period",
                "sources",
                "destinations",
                "start",
                "duration",
            ],
            Self::PfcStorm => &["host", "pause", "period", "start", "duration"],
            Self::CacheFlood => &[
                "qps",
                "value",
                "sources",
                "destinations",
                "start",
                "duration",
            ],
            Self::NicHog => &["qps", "sources", "destinations", "start", "duration"],
            Self::Paced => &[
                "rate",
                "piece",
                "sources",
                "destinations",
                "start",
                "duration",
            ],
        }
    }
}

impl fmt::Display for AttackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Attack {
    /// An attack with every default.
    pub const fn new(kind: AttackKind) -> Self {
        Self {
            tenant: None,
            kind,
            honest: false,
            above: None,
            piece: None,
            qps: None,
            gap: None,
            rings: None,
            bdps: None,
            outstanding: None,
            rate: None,
            host: None,
            pause: None,
            period: None,
            value: None,
            sources: None,
            destinations: None,
            start: None,
            duration: None,
        }
    }

    /// Whether it changes messages of the tenant's workloads, and isn't traffic of its own.
    pub const fn is_transform(&self) -> bool {
        match self.kind {
            AttackKind::Parallel | AttackKind::Staggered => true,
            AttackKind::ShuffledOverlay => self.above.is_some(),
            AttackKind::Churn
            | AttackKind::RotatingIncast
            | AttackKind::Pulse
            | AttackKind::PfcStorm
            | AttackKind::CacheFlood
            | AttackKind::NicHog
            | AttackKind::Paced => false,
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

    /// The keys that are stated, beside `tenant`, `kind` and `honest`.
    pub fn stated(&self) -> Vec<&'static str> {
        let all = [
            ("above", self.above.is_some()),
            ("piece", self.piece.is_some()),
            ("qps", self.qps.is_some()),
            ("gap", self.gap.is_some()),
            ("rings", self.rings.is_some()),
            ("bdps", self.bdps.is_some()),
            ("outstanding", self.outstanding.is_some()),
            ("rate", self.rate.is_some()),
            ("host", self.host.is_some()),
            ("pause", self.pause.is_some()),
            ("period", self.period.is_some()),
            ("value", self.value.is_some()),
            ("sources", self.sources.is_some()),
            ("destinations", self.destinations.is_some()),
            ("start", self.start.is_some()),
            ("duration", self.duration.is_some()),
        ];
        let stated = all.into_iter().filter(|(_, stated)| *stated);
        stated.map(|(key, _)| key).collect()
    }
}

impl AttackKind {
    /// Whether it cuts messages without being asked to.
    const fn cuts(self) -> bool {
        matches!(self, Self::Parallel | Self::Staggered)
    }
}
