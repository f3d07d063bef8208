//! The contract between an algorithm and whoever drives it.

use alloc::sync::Arc;

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::{Ack, Parameters, Timers, WindowMode};

/// What every algorithm is: the state that decides one rate.
///
/// Inputs are the `on_*` methods, whose times never go back; outputs are
/// [`rate`](Self::rate), [`window`](Self::window) and [`timers`](Self::timers). An algorithm reads no
/// clock, does no IO and allocates nothing after the first acknowledgement.
pub trait CongestionControl: Clone {
    /// Its parameters.
    type Config: Parameters;

    /// Its name as its authors write it.
    const TITLE: &'static str;

    /// What the network and the driver must provide.
    const NEEDS: Needs;

    /// The limit on bytes in flight that it was published with, beside its own
    /// [`window`](Self::window).
    const WINDOW: WindowMode = WindowMode::None;

    /// The marking that it was published with.
    const MARKING: Marking = Marking::RED;

    /// The state before the first packet; the rate is the line rate unless the parameters say less.
    fn new(config: Arc<Self::Config>, environment: &Environment) -> Self;

    /// The sending rate, above zero and at most the line rate.
    fn rate(&self) -> Rate;

    /// A packet may be sent while fewer bytes than this are in flight; `None` if only the rate and
    /// the [`Window`](crate::Window) of the driver limit.
    #[inline]
    fn window(&self) -> Option<Bytes> {
        None
    }

    /// Hears an acknowledgement; returns whether the time of a packet that is already paced must
    /// follow the new rate (see [`Pacer::on_rate_change`](crate::Pacer::on_rate_change)).
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool;

    /// Hears a notification that travels apart from acknowledgements (CNP, BECN).
    #[inline]
    fn on_cnp(&mut self, _now: Time) {}

    /// Hears that packets were lost and sending goes back.
    #[inline]
    fn on_loss(&mut self, _now: Time, _loss: Loss) {}

    /// The deadlines.
    #[inline]
    fn timers(&self) -> &Timers {
        &Timers::IDLE
    }

    /// The timers that changed since the last call, as a bit set.
    #[inline]
    fn take_changed_timers(&mut self) -> u8 {
        0
    }

    /// Fires `timer`, which is due at `now`.
    fn on_timer(&mut self, _now: Time, _timer: usize) {}
}

/// What a controller knows about its surroundings before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Rate of the sending port; controllers start here and never exceed it.
    pub line_rate: Rate,
    /// Round-trip time without queues.
    pub base_rtt: Duration,
    /// Bandwidth-delay product: the window of a controller that has one.
    pub bdp: Bytes,
    /// Payload of a full packet.
    pub mtu: Bytes,
}

/// What an algorithm can't do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Packets collect the state of every port that they pass.
    pub telemetry: bool,
    /// Switches mark packets, and receivers tell the sender.
    pub marks: bool,
    /// The algorithm also works if receivers notify the sender of marks by CNPs, fewer than there are marks.
    pub hears_cnps: bool,
    /// Round-trip times and hops are measured packet by packet.
    pub round_trip: bool,
    /// The [`Window`](crate::Window) of the driver limits bytes in flight.
    pub window: bool,
}

impl Needs {
    /// Nothing at all.
    pub const NOTHING: Self = Self {
        telemetry: false,
        marks: false,
        hears_cnps: false,
        round_trip: false,
        window: false,
    };
}

/// How switches mark, in proportion to the rate of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// No marks at or below this queue length, per Gb/s.
    pub kmin_per_gbps: Bytes,
    /// Every packet is marked above this queue length, per Gb/s.
    pub kmax_per_gbps: Bytes,
    /// Probability of a mark at kmax, rising from 0 at kmin.
    pub pmax: f64,
}

impl Marking {
    /// With a probability that rises: 100 KB to 400 KB at 25 Gb/s (HPCC, SIGCOMM 2019,
    /// section 5.1), up to 0.2 (its artefact).
    pub const RED: Self = Self {
        kmin_per_gbps: Bytes::new(4000),
        kmax_per_gbps: Bytes::new(16_000),
        pmax: 0.2,
    };

    /// Every packet above one length: 300 KB at 100 Gb/s, as HPCC's artefact runs DCTCP.
    pub const STEP: Self = Self {
        kmin_per_gbps: Bytes::new(3000),
        kmax_per_gbps: Bytes::new(3000),
        pmax: 1.0,
    };
}

/// How a loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver missed a packet and said so (NAK).
    Nak,
    /// Nothing was acknowledged for too long.
    Timeout,
}
