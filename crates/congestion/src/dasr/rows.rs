//! What a receiver knows of each sender.

use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use super::index::{Index, Key};
use super::params::Mode;
use crate::scope::Share;

/// A sender as its receiver tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The tenant whose traffic it is.
    pub tenant: TenantId,
    /// The host that sends.
    pub host: HostId,
    /// The rate of that host's link, of which shares and demands are parts.
    pub line_rate: Rate,
}

impl Peer {
    pub(crate) const fn key(&self) -> Key {
        (self.tenant, self.host)
    }
}

/// What is measured of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    since: Time,
    bytes: Bytes,
    /// The most that it declared since then.
    declared: Rate,
    /// What the last look found.
    measured: Option<Rate>,
    /// Whether that was more than what it had declared allows.
    exceeds: bool,
}

impl Meter {
    const fn new(now: Time) -> Self {
        Self {
            since: now,
            bytes: Bytes::ZERO,
            declared: Rate::ZERO,
            measured: None,
            exceeds: false,
        }
    }

    /// Another packet, after which a look may end.
    fn on_packet(&mut self, now: Time, wire: Bytes, declared: Rate, look: Look) {
        self.bytes += wire;
        self.declared = self.declared.max(declared);
        let passed = now.saturating_since(self.since);
        if passed < look.span || self.bytes < look.bytes || passed.is_zero() {
            return;
        }
        let measured = over(self.bytes, passed);
        *self = Self {
            measured: Some(measured),
            exceeds: measured > self.declared.scale(1.0 + look.headroom),
            declared,
            ..Self::new(now)
        };
    }
}

/// How senders are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The least time and bytes of a look.
    pub(crate) span: Duration,
    pub(crate) bytes: Bytes,
    /// What more than is measured, or declared, may be.
    pub(crate) headroom: f64,
}

/// One sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) peer: Peer,
    /// Place of its tenant.
    pub(crate) group: u32,
    /// The driver's number for where share packets go.
    pub(crate) via: u32,
    /// Messages of which the first byte has arrived and the last hasn't.
    pub(crate) open: u32,
    /// Whether none is open, and it doesn't say whether more will come.
    pub(crate) ended: bool,
    /// What it says that it could use.
    declared: Option<Rate>,
    /// What it is taken to be able to use, in bits per second; that of the last division.
    pub(crate) demand: f64,
    pub(crate) divided: f64,
    /// What it may send; what it was told last, and when; when it was heard last.
    pub(crate) share: Rate,
    pub(crate) told: Rate,
    pub(crate) told_at: Time,
    pub(crate) seen: Time,
    /// Whether it is to be told without having asked.
    pub(crate) unheard: bool,
    /// Bytes that it has yet to send, [`u32::MAX`] if it doesn't say; whether it is among those served.
    pub(crate) backlog: u32,
    pub(crate) served: bool,
    meter: Meter,
}

// `docs/dasr.md` says how much memory senders take.
const _: () = assert!(size_of::<Row>() <= 256);

impl Row {
    pub(crate) const fn new(now: Time, peer: Peer, group: u32) -> Self {
        Self {
            peer,
            group,
            via: 0,
            open: 0,
            ended: true,
            declared: None,
            demand: f64::INFINITY,
            divided: f64::INFINITY,
            share: peer.line_rate,
            told: peer.line_rate,
            told_at: now,
            seen: now,
            unheard: false,
            backlog: u32::MAX,
            served: true,
            meter: Meter::new(now),
        }
    }

    /// Takes in what a packet says of demand, and what it is itself.
    pub(crate) fn note_demand(
        &mut self,
        now: Time,
        wire: Bytes,
        demand: Option<u16>,
        mode: Mode,
        look: Look,
    ) {
        let line = self.peer.line_rate;
        // Who says that it needs nothing, but goes on, needs the least.
        self.declared = demand.and_then(|units| Share::new(units.max(1)).map(|one| one.of(line)));
        let declared = self.declared.unwrap_or(line);
        self.meter.on_packet(now, wire, declared, look);
        self.demand = self.wants(mode, look.headroom).min(match mode {
            Mode::Count => f64::INFINITY,
            _ => line.as_f64(),
        });
    }

    /// What it is taken to be able to use. Who sends more than it has declared isn't believed.
    fn wants(&self, mode: Mode, headroom: f64) -> f64 {
        if !mode.heeds_demand() {
            return f64::INFINITY;
        }
        let measured = self.meter.measured.map(|rate| rate.scale(1.0 + headroom));
        match (self.declared, measured) {
            (Some(declared), Some(measured)) if self.meter.exceeds => {
                declared.max(measured).as_f64()
            }
            (Some(declared), _) => declared.as_f64(),
            (None, Some(measured)) if mode == Mode::Measured => measured.as_f64(),
            (None, _) => f64::INFINITY,
        }
    }

    /// The rate at which its packets can be expected.
    pub(crate) fn pace(&self) -> Rate {
        self.up_to(self.share.min(self.told))
    }

    /// The rate at which it sends, or will once it has heard of its share, whichever is higher.
    pub(crate) fn pace_at_most(&self) -> Rate {
        self.up_to(self.share.max(self.told))
    }

    fn up_to(&self, allowed: Rate) -> Rate {
        if self.demand < allowed.as_f64() {
            return bps(self.demand);
        }
        allowed.max(Rate::from_bps(1))
    }

    /// Whether what it was told differs by more than `part` of that from what it may send, as far as it can use it.
    pub(crate) fn is_out_of_date(&self, part: f64) -> bool {
        let [share, told] = [self.share, self.told].map(|rate| rate.as_f64().min(self.demand));
        (share - told).abs() > part * told
    }

    /// What it may send as it is told.
    pub(crate) fn stated(&self) -> Share {
        Share::from_rate(self.share, self.peer.line_rate)
    }
}

/// A rate from bits per second, rounded down, one at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and rounding down is wanted"
)]
pub(crate) fn bps(rate: f64) -> Rate {
    Rate::from_bps((rate as u64).max(1))
}

/// The rate of `bytes` in `time`.
pub(crate) fn over(bytes: Bytes, time: Duration) -> Rate {
    let bps = u128::from(bytes.get()) * 8_000_000_000_000 / u128::from(time.as_ps().max(1));
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// All senders: close together, and by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) all: Vec<Row>,
    index: Index,
}

impl Rows {
    /// Where the sender of a key is.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<usize> {
        self.index.get(key).map(|at| at as usize)
    }

    /// Adds a sender and returns where it is.
    #[expect(clippy::cast_possible_truncation, reason = "their number is bounded")]
    pub(crate) fn push(&mut self, row: Row) -> usize {
        self.index.set(row.peer.key(), self.all.len() as u32);
        self.all.push(row);
        self.all.len() - 1
    }

    /// Removes a sender; the last one takes its place.
    #[expect(clippy::cast_possible_truncation, reason = "their number is bounded")]
    pub(crate) fn remove(&mut self, at: usize) -> Row {
        let row = self.all.swap_remove(at);
        self.index.remove(row.peer.key());
        if let Some(moved) = self.all.get(at) {
            self.index.set(moved.peer.key(), at as u32);
        }
        row
    }
}
