//! Swift: a target for the delay of the fabric, and one for the delay of the hosts.
//!
//! Source: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020, section 3 and algorithm 1. Windows are in packets.
//!
//! ```text
//! target = base + hops h + max(0, min(a / sqrt(w) + b, range))                       (section 3.5)
//!          a = range / (1 / sqrt(low) - 1 / sqrt(high)),  b = -a / sqrt(high)
//! delay < target:   w <- w + ai acked / w  (w >= 1)  or  w + ai acked               (algorithm 1)
//! otherwise, at     w <- w max(1 - beta (delay - target) / delay, 1 - max decrease)
//!   most once per round trip
//! NAK:              w <- w (1 - max decrease), at most once per round trip
//! timeout:          the same; from the fifth in a row on  w <- min
//! w < 1:            one packet in flight, and rtt / w from one to the next           (section 3.4)
//! ```
//!
//! There is such a window for the fabric and, if the driver measures the delay of the hosts, one for
//! them with a constant target (section 3.3); the smaller holds.
//!
//! Deviations from the paper: a message starts with a window of one bandwidth-delay product; the
//! window is at most what the line rate sends in the target delay; a decrease that was due and not
//! permitted doesn't postpone the next one, as `cwnd <= cwnd_prev` in the paper's listing would.

use alloc::sync::Arc;

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Loss, Needs, parameters};

parameters! {
    /// Parameters of Swift. The paper names them and gives few figures: where it is silent, the defaults
    /// are those of htsim's model of Swift, which its authors tuned to the paper's curves.
    Config {
        /// Target delay of the fabric before scaling, round-trip time included.
        base_target: Duration = Duration::from_us(20) => period,
        /// Addition to the target per switch on the path.
        ///
        /// Source: about a seventh of the base target.
        hop_target: Duration = Duration::from_us(3) => span,
        /// Most that flow scaling adds to the target.
        flow_range: Duration = Duration::from_us(100) => span,
        /// Window at which flow scaling adds the most.
        flow_min_window: f64 = 0.1 => within(0.001, 1e6),
        /// Window from which flow scaling adds nothing.
        flow_max_window: f64 = 100.0 => within(0.001, 1e6),
        /// Target delay of the two hosts, which take no time in the simulated fabric.
        ///
        /// Source: that of the fabric.
        endpoint_target: Duration = Duration::from_us(20) => period,
        /// Packets added to the window per round trip.
        additive_increase: f64 = 1.0 => within(0.0, 1000.0),
        /// beta: strength of a decrease.
        decrease_gain: f64 = 0.8 => within(0.0, 1.0),
        /// Most that one decrease takes, as a share of the window.
        max_decrease: f64 = 0.5 => within(0.0, 1.0),
        /// Smallest window; below 1 packets are paced.
        ///
        /// Source: the paper's thousandth (section 3.4) would outlast ACK timeouts.
        min_window: f64 = 0.01 => within(1e-6, 1.0),
        /// Timeouts in a row after which the window falls to the smallest.
        reset_after: u32 = 5 => count(1, u32::MAX.into()),
    }
    where |it| {
        flow_max_window: it.flow_min_window < it.flow_max_window => "more than flow_min_window",
    }
}

/// A window that follows one delay.
#[derive(Clone, Copy, Debug)]
struct DelayWindow {
    packets: f64,
    /// No decrease before.
    decrease_from: Time,
}

impl DelayWindow {
    fn on_delay(&mut self, config: &Config, sample: &Sample) {
        let (delay, target) = (sample.delay_ns, sample.target_ns);
        if delay < target {
            let step = config.additive_increase * sample.packets;
            self.packets += step / self.packets.max(1.0);
        } else {
            let factor = 1.0 - config.decrease_gain * (delay - target) / delay;
            self.cut(
                sample.now,
                factor.max(1.0 - config.max_decrease),
                sample.rtt,
            );
        }
    }

    /// Multiplies the window by `factor`, at most once per round trip.
    fn cut(&mut self, now: Time, factor: f64, rtt: Duration) {
        if now >= self.decrease_from && factor < 1.0 {
            self.packets *= factor;
            self.decrease_from = now.saturating_add(rtt);
        }
    }
}

/// What one acknowledgement says of one delay.
struct Sample {
    now: Time,
    delay_ns: f64,
    target_ns: f64,
    rtt: Duration,
    /// Packets acknowledged for the first time.
    packets: f64,
}

/// The state of one Swift sender.
#[derive(Clone, Debug)]
pub struct Swift {
    config: Arc<Config>,
    line_rate: Rate,
    mtu: Bytes,
    base_rtt: Duration,
    fabric: DelayWindow,
    endpoint: DelayWindow,
    /// a and b of flow scaling, in nanoseconds.
    scaling: (f64, f64),
    /// The most recent round-trip time.
    rtt: Duration,
    acknowledged: Bytes,
    /// Timeouts since the last acknowledgement.
    timeouts: u32,
    rate: Rate,
    limit: Bytes,
}

impl CongestionControl for Swift {
    type Config = Config;

    const TITLE: &'static str = "Swift";
    const NEEDS: Needs = Needs {
        round_trip: true,
        ..Needs::NOTHING
    };

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        let start = DelayWindow {
            packets: (environment.bdp.as_f64() / environment.mtu.as_f64()).max(1.0),
            decrease_from: Time::ZERO,
        };
        let inverse_root = |packets: f64| 1.0 / libm::sqrt(packets);
        let high = inverse_root(config.flow_max_window);
        let slope = config.flow_range.as_ns_f64() / (inverse_root(config.flow_min_window) - high);
        let mut swift = Self {
            line_rate: environment.line_rate,
            mtu: environment.mtu,
            base_rtt: environment.base_rtt,
            fabric: start,
            endpoint: start,
            scaling: (slope, -slope * high),
            rtt: environment.base_rtt,
            acknowledged: Bytes::ZERO,
            timeouts: 0,
            rate: environment.line_rate,
            limit: Bytes::ZERO,
            config,
        };
        swift.follow();
        swift
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn window(&self) -> Option<Bytes> {
        Some(self.limit)
    }

    /// Ignores an acknowledgement without a round-trip time.
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        let Some(rtt) = ack.round_trip.filter(|rtt| !rtt.is_zero()) else {
            return false;
        };
        self.rtt = rtt;
        self.timeouts = 0;
        let advanced = ack.acknowledged.saturating_sub(self.acknowledged);
        self.acknowledged = self.acknowledged.max(ack.acknowledged);
        let hosts = ack.endpoint_delay.unwrap_or_default();
        let mut sample = Sample {
            now,
            delay_ns: rtt.saturating_sub(hosts).as_ns_f64(),
            target_ns: self.target_ns(ack.hops),
            rtt,
            packets: advanced.as_f64() / self.mtu.as_f64(),
        };
        self.fabric.on_delay(&self.config, &sample);
        let most = self.most_packets(sample.target_ns);
        if ack.endpoint_delay.is_some() {
            sample.delay_ns = hosts.as_ns_f64();
            sample.target_ns = self.config.endpoint_target.as_ns_f64();
            self.endpoint.on_delay(&self.config, &sample);
        } else {
            self.endpoint.packets = most;
        }
        self.clamp(most);
        self.follow()
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        self.timeouts = match loss {
            Loss::Nak => 0,
            Loss::Timeout => self.timeouts.saturating_add(1),
        };
        if self.timeouts >= self.config.reset_after {
            self.fabric.packets = self.config.min_window;
        } else {
            let factor = 1.0 - self.config.max_decrease;
            self.fabric.cut(now, factor, self.rtt);
        }
        self.clamp(f64::INFINITY);
        self.follow();
    }
}

impl Swift {
    /// The window in packets.
    pub const fn packets(&self) -> f64 {
        self.fabric.packets.min(self.endpoint.packets)
    }

    /// The target delay in nanoseconds on a way over so many switches.
    pub fn target_ns(&self, hops: u8) -> f64 {
        let (slope, offset) = self.scaling;
        let scaled = slope / libm::sqrt(self.fabric.packets) + offset;
        let config = &self.config;
        let flow = scaled.min(config.flow_range.as_ns_f64()).max(0.0);
        config.base_target.as_ns_f64() + f64::from(hops) * config.hop_target.as_ns_f64() + flow
    }

    /// What the line rate sends in the target delay.
    fn most_packets(&self, target_ns: f64) -> f64 {
        let span_ns = target_ns.max(self.base_rtt.as_ns_f64());
        let bytes = self.line_rate.as_f64() / 8.0 * (span_ns / 1e9);
        (bytes / self.mtu.as_f64()).max(1.0)
    }

    fn clamp(&mut self, most: f64) {
        let least = self.config.min_window;
        for window in [&mut self.fabric, &mut self.endpoint] {
            window.packets = window.packets.min(most).max(least);
        }
    }

    /// Turns the window into a rate and a limit; returns whether the rate is another.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the casts saturate, and rounding down is wanted"
    )]
    fn follow(&mut self) -> bool {
        let packets = self.packets();
        let before = self.rate;
        if packets >= 1.0 {
            // A whole packet must fit: as many bytes as leave room for one more.
            let bytes = (packets * self.mtu.as_f64()) as u64;
            self.limit = Bytes::new(bytes.saturating_sub(self.mtu.get()) + 1);
            self.rate = self.line_rate;
        } else {
            let bits = self.mtu.as_f64() * 8.0 * packets;
            let paced = Rate::from_bps((bits / (self.rtt.as_ns_f64() * 1e-9)) as u64);
            self.limit = Bytes::new(1);
            self.rate = paced.max(Rate::from_bps(1)).min(self.line_rate);
        }
        self.rate != before
    }
}
