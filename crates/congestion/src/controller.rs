//! One controller of any algorithm.

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::dcqcn::Dcqcn;
use crate::fixed::Fixed;
use crate::hpcc::Hpcc;
use crate::{Ack, Params, Timers};

/// What a controller knows about its surroundings before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Rate of the sending port; controllers start here and never exceed it.
    pub line_rate: Rate,
    /// Round-trip time without queues.
    pub base_rtt: Duration,
    /// Bandwidth-delay product: the window of a controller that has one.
    pub bdp: Bytes,
}

/// The state of one controller.
///
/// Inputs are [`on_ack`](Self::on_ack) and [`on_timer`](Self::on_timer), whose times never go back;
/// outputs are [`rate`](Self::rate) and [`timers`](Self::timers).
#[derive(Clone, Debug)]
pub enum Controller {
    /// See [`fixed`](crate::fixed).
    Fixed(Fixed),
    /// See [`dcqcn`](crate::dcqcn).
    Dcqcn(Dcqcn),
    /// See [`hpcc`](crate::hpcc).
    Hpcc(Hpcc),
}

impl Controller {
    /// A controller that starts at the line rate.
    pub fn new(params: &Params, environment: &Environment) -> Self {
        match params {
            Params::Fixed(config) => Self::Fixed(Fixed::new(config, environment)),
            Params::Dcqcn(config) => Self::Dcqcn(Dcqcn::new(config.clone(), environment)),
            Params::Hpcc(config) => Self::Hpcc(Hpcc::new(config.clone(), environment)),
        }
    }

    /// The sending rate now.
    #[inline]
    pub fn rate(&self) -> Rate {
        match self {
            Self::Fixed(state) => state.rate(),
            Self::Dcqcn(state) => state.rate(),
            Self::Hpcc(state) => state.rate(),
        }
    }

    /// Hears an acknowledgement; returns whether the time of a packet that is already paced must
    /// follow the new rate (see [`Pacer::on_rate_change`](crate::Pacer::on_rate_change)).
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Dcqcn(state) => {
                state.on_ack(now, ack);
                false
            }
            Self::Hpcc(state) => state.on_ack(ack),
        }
    }

    /// Fires `timer`, which is due at `now`.
    pub fn on_timer(&mut self, now: Time, timer: usize) {
        match self {
            Self::Fixed(_) | Self::Hpcc(_) => {}
            Self::Dcqcn(state) => state.on_timer(now, timer),
        }
    }

    /// Fires the deadline that [`Timers::next`] returned.
    pub fn on_deadline(&mut self, (timer, deadline): (usize, Time)) {
        self.on_timer(deadline, timer);
    }

    /// The deadlines.
    pub fn timers(&self) -> &Timers {
        match self {
            Self::Fixed(_) | Self::Hpcc(_) => &Timers::IDLE,
            Self::Dcqcn(state) => state.timers(),
        }
    }

    /// The timers that changed since the last call, as a bit set.
    #[inline]
    pub fn take_changed_timers(&mut self) -> u8 {
        match self {
            Self::Fixed(_) | Self::Hpcc(_) => 0,
            Self::Dcqcn(state) => state.take_changed_timers(),
        }
    }
}
