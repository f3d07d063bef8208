//! NSCC, the sender's control of Ultra Ethernet: a window for all paths, marks and delays.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6.13, "Network Signal-based Congestion Control". It
//! goes back to Bonato et al., "SMaRTT", arXiv 2404.01630; Hoefler et al., "Ultra Ethernet's Design
//! Principles and Architectural Innovations", arXiv 2508.08906, say why it is as it is.
//!
//! ```text
//! delay = rtt - base, base the least rtt so far;  W at most 1.5 line base, at least one packet
//! a = line base / 150 kB,  n bytes arrived with this acknowledgement, MTU bytes to a packet
//!
//!                 delay < target                            delay >= target
//! no mark         inc += alpha MTU a n (target - delay) / T  inc += fi MTU a n          (3.6.13.5)
//! mark            nothing: paths are chosen better           W *= max(1 - gamma (avg - target) / avg, 1/2),
//!                                                            if avg > target, once per base
//! every 8 packets or base:      W += inc / W, inc = 0; if it is a base since: W += eta MTU a   (3.6.13.6)
//! no delay for a whole window:  W += a n / 4 in place of inc, until there is a delay
//! loss:                         W -= MTU
//! quick adapt, every base + target: if delay > 4 target and fewer than an eighth of the largest window
//!   have arrived, W = what arrived; marks say nothing until what is in flight then has arrived
//! ```
//!
//! T is 12 us: alpha, fi and eta are given for a reference network of 100 Gb/s and that round trip (3.6.13.3).
//!
//! Where the specification leaves open: avg forgets a share of elapsed time / base ("over the last base" is all
//! that it says; the Consortium's simulator weighs each sample with 1/80 and takes unmarked delays above the
//! target for a quarter of base), and no delay is less than 1 us, as in that simulator.
//!
//! Where publications differ, the specification holds: SMaRTT has windows of 1.25 bandwidth-delay products, cuts a
//! little at a mark below the target, and by at most a packet at each acknowledgement above it.
//!
//! Deviations: hosts take no time, so that receivers have nothing to complain of (section 3.6.13.2, Rcv_Cwnd_Pend);
//! switches don't trim, so that quick adapt has no other trigger than delay, and a loss that was reported
//! counts as one packet; packets shorter than full ones say nothing of base, as they are faster; bytes are
//! payload. The reports of receivers have no count of bytes arrived: one that doesn't confirm more is taken for a
//! packet that came early. Bytes that came early are in flight until they are confirmed.

use alloc::sync::Arc;

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Loss, Marking, Needs, parameters};

parameters! {
    /// Parameters of NSCC. The defaults are the specification's (section 3.6.13.3) for switches that don't trim.
    Config {
        /// `target_qdelay`: target queueing delay in base round-trip times.
        target_delay: f64 = 1.0 => within(0.001, 1000.0),
        /// `MaxWnd`: largest and initial window in bandwidth-delay products.
        max_window: f64 = 1.5 => within(0.01, 1000.0),
        /// alpha: packets per round trip without delay and marks, per 12 us of target.
        proportional_increase: f64 = 4.0 => within(0.0, 1000.0),
        /// `fi`: packets per round trip above the target without marks.
        fair_increase: f64 = 5.0 => within(0.0, 1000.0),
        /// `eta`: packets per `adjust_period` in any case.
        additive_increase: f64 = 0.15 => within(0.0, 1000.0),
        /// `fi_scale`: bytes per byte that arrives after a whole window without delay.
        fast_increase: f64 = 0.25 => within(0.0, 1000.0),
        /// Delays below this count as none.
        ///
        /// Source: the simulator of the specification's authors; the specification says "about 0".
        no_delay: Duration = Duration::from_us(1) => span,
        /// gamma: strength of a decrease.
        decrease_gain: f64 = 0.8 => within(0.0, 1.0),
        /// 1 - `max_md_jump`: most that one decrease takes, as a share of the window.
        max_decrease: f64 = 0.5 => within(0.0, 1.0),
        /// `adjust_bytes_threshold`: packets after which increases are added to the window.
        adjust_packets: u32 = 8 => count(1, 1 << 20),
        /// `adjust_period_threshold`: time after which they are added in any case, in base round-trip times.
        adjust_period: f64 = 1.0 => within(0.0, 1000.0),
        /// Not `disable_quick_adapt`: whether the window may fall at once to the bytes that arrived.
        quick_adapt: bool = true,
        /// `qa_threshold`: delay that triggers it, in targets. The specification derives it from the queue length at which
        /// switches drop, 5 bandwidth-delay products.
        quick_adapt_delay: f64 = 4.0 => within(0.0, 1e6),
        /// `qa_gate`: it also needs that less than the largest window / 2^this arrived.
        quick_adapt_gate: u8 = 3 => count(0, 63),
    }
}

/// The network that the increases are given for: 100 Gb/s and 12 us.
const REFERENCE_RTT: Duration = Duration::from_us(12);
const REFERENCE_BDP: f64 = 150_000.0;

/// The state of one NSCC sender.
#[derive(Clone, Debug)]
pub struct Nscc {
    config: Arc<Config>,
    line_rate: Rate,
    mtu: f64,
    /// Target queueing delay: a multiple of the base round-trip time that was configured, whatever is measured.
    target: Duration,
    /// An increase by so many bytes in the reference network is one by a packet here.
    step: f64,
    /// The least round-trip time so far.
    base_rtt: Duration,
    /// In bytes.
    window: f64,
    /// Average of the delay, and when it was the last time.
    average_ns: f64,
    averaged_at: Time,
    acknowledged: Bytes,
    /// Bytes that arrived before others that are missing.
    early: f64,
    /// What will be added to the window, times the window.
    gathered: f64,
    /// Bytes that arrived since the window was adjusted, and when that was for want of bytes.
    received: f64,
    adjusted_at: Time,
    decreased_at: Time,
    /// Bytes in a row that met no delay.
    undelayed: f64,
    /// Whether they were a whole window.
    fast: bool,
    /// Bytes that arrived since the last look at whether to adapt quickly, and when the next is due; zero before
    /// the first.
    achieved: f64,
    adapt_at: Time,
    /// Bytes that were in flight when the window was adapted quickly, and have not arrived.
    stale: f64,
}

/// What one acknowledgement says.
struct Sample {
    now: Time,
    marked: bool,
    delay_ns: f64,
    /// Bytes that have arrived.
    bytes: f64,
    in_flight: f64,
}

impl CongestionControl for Nscc {
    type Config = Config;

    const TITLE: &'static str = "NSCC";
    const NEEDS: Needs = Needs {
        marks: true,
        round_trip: true,
        ..Needs::NOTHING
    };

    /// A fifth to four fifths of the bandwidth-delay product (section 3.6.17) of the reference network.
    const MARKING: Marking = Marking {
        kmin_per_gbps: Bytes::new(300),
        kmax_per_gbps: Bytes::new(1200),
        pmax: 1.0,
    };

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        let base_rtt = environment.base_rtt;
        let mtu = environment.mtu.as_f64();
        let scale = bytes_in(environment.line_rate, base_rtt) / REFERENCE_BDP;
        let mut nscc = Self {
            line_rate: environment.line_rate,
            mtu,
            target: scaled(base_rtt, config.target_delay),
            step: scale * mtu,
            base_rtt,
            window: f64::INFINITY,
            average_ns: 0.0,
            averaged_at: Time::ZERO,
            acknowledged: Bytes::ZERO,
            early: 0.0,
            gathered: 0.0,
            received: 0.0,
            adjusted_at: Time::ZERO,
            decreased_at: Time::ZERO,
            undelayed: 0.0,
            fast: false,
            achieved: 0.0,
            adapt_at: Time::ZERO,
            stale: 0.0,
            config,
        };
        nscc.clamp();
        nscc
    }

    /// The window alone limits.
    #[inline]
    fn rate(&self) -> Rate {
        self.line_rate
    }

    /// A whole packet must fit (`CanSend`): as many bytes as leave room for one more.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and rounding down is wanted"
    )]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window - self.mtu) as u64 + 1))
    }

    /// One without a round-trip time only says what has arrived.
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        let bytes = self.arrived(ack);
        let Some(rtt) = ack.round_trip.filter(|rtt| !rtt.is_zero()) else {
            return false;
        };
        if rtt < self.base_rtt && bytes >= self.mtu {
            self.base_rtt = rtt;
        }
        let sample = Sample {
            now,
            marked: ack.congestion_notified,
            delay_ns: rtt.saturating_sub(self.base_rtt).as_ns_f64(),
            bytes,
            in_flight: ack.next_to_send.saturating_sub(ack.acknowledged).as_f64(),
        };
        self.average(&sample);
        if !self.adapts_quickly(&sample) {
            self.decide(&sample);
            self.adjust(now);
        }
        self.clamp();
        false
    }

    /// Neither a NAK nor a timeout says how many packets were lost: at least one.
    fn on_loss(&mut self, _now: Time, _loss: Loss) {
        self.window -= self.mtu;
        self.stale = (self.stale - self.mtu).max(0.0);
        self.clamp();
    }
}

impl Nscc {
    /// The window in packets.
    pub fn packets(&self) -> f64 {
        self.window / self.mtu
    }

    /// The largest window in bytes.
    fn most(&self) -> f64 {
        self.config.max_window * bytes_in(self.line_rate, self.base_rtt)
    }

    fn clamp(&mut self) {
        self.window = self.window.min(self.most()).max(self.mtu);
    }

    /// Bytes that have arrived since the acknowledgement before.
    fn arrived(&mut self, ack: &Ack<'_>) -> f64 {
        let advanced = ack.acknowledged.saturating_sub(self.acknowledged).as_f64();
        self.acknowledged = self.acknowledged.max(ack.acknowledged);
        let bytes = if advanced > 0.0 {
            // The packet that closed a gap, and those behind it that nobody has told of.
            let told = self.early.min((advanced - self.mtu).max(0.0));
            self.early -= told;
            advanced - told
        } else {
            let in_flight = ack.next_to_send.saturating_sub(ack.acknowledged).as_f64();
            let early = (self.early + self.mtu).min(in_flight);
            let bytes = (early - self.early).max(0.0);
            self.early = early;
            bytes
        };
        self.received += bytes;
        self.achieved += bytes;
        self.stale = (self.stale - bytes).max(0.0);
        bytes
    }

    /// Folds a delay into the average over the last base round-trip time.
    fn average(&mut self, sample: &Sample) {
        let elapsed = sample.now.saturating_since(self.averaged_at);
        let weight = (elapsed.as_ns_f64() / self.base_rtt.as_ns_f64()).min(1.0);
        self.average_ns += weight * (sample.delay_ns - self.average_ns);
        self.averaged_at = sample.now;
    }

    /// The four cases of delay and mark.
    fn decide(&mut self, sample: &Sample) {
        match (sample.marked, sample.delay_ns < self.target.as_ns_f64()) {
            (false, true) => self.increase_in_proportion(sample),
            (false, false) => {
                self.gathered += self.config.fair_increase * self.step * sample.bytes;
            }
            (true, true) => {}
            (true, false) => self.decrease(sample.now),
        }
    }

    fn increase_in_proportion(&mut self, sample: &Sample) {
        if sample.delay_ns < self.config.no_delay.as_ns_f64() {
            self.undelayed += sample.bytes;
            if self.undelayed > self.window || self.fast {
                self.window += sample.bytes * self.config.fast_increase * self.step / self.mtu;
                self.fast = true;
                return;
            }
        } else {
            self.undelayed = 0.0;
        }
        self.fast = false;
        let room = (self.target.as_ns_f64() - sample.delay_ns) / REFERENCE_RTT.as_ns_f64();
        self.gathered += self.config.proportional_increase * self.step * sample.bytes * room;
    }

    fn decrease(&mut self, now: Time) {
        (self.undelayed, self.fast) = (0.0, false);
        let excess = self.average_ns - self.target.as_ns_f64();
        if excess > 0.0 && now.saturating_since(self.decreased_at) > self.base_rtt {
            let factor = 1.0 - self.config.decrease_gain * excess / self.average_ns;
            self.window *= factor.max(1.0 - self.config.max_decrease);
            self.decreased_at = now;
        }
    }

    /// Adds to the window what has been gathered, now and then.
    fn adjust(&mut self, now: Time) {
        // A fast increase or a decrease may have left the bounds.
        self.clamp();
        let elapsed = now.saturating_since(self.adjusted_at).as_ns_f64();
        let due = elapsed >= self.config.adjust_period * self.base_rtt.as_ns_f64();
        if due || self.received > f64::from(self.config.adjust_packets) * self.mtu {
            self.window += self.gathered / self.window;
            if due {
                self.window += self.config.additive_increase * self.step;
                self.adjusted_at = now;
            }
            (self.gathered, self.received) = (0.0, 0.0);
        }
    }

    /// Now and then looks whether next to nothing arrives while delays are long, and then sets the window to what
    /// does. Returns whether the acknowledgement has no more to say: because it has done so, or because the
    /// mark is of the queue that it has done so for.
    fn adapts_quickly(&mut self, sample: &Sample) -> bool {
        if !self.config.quick_adapt {
            return false;
        }
        let mut done = self.stale > 0.0 && sample.marked;
        if !done && sample.now >= self.adapt_at {
            let delayed = sample.delay_ns > self.config.quick_adapt_delay * self.target.as_ns_f64();
            let gate = self.most() / libm::ldexp(1.0, self.config.quick_adapt_gate.into());
            if self.adapt_at > Time::ZERO && delayed && self.achieved < gate {
                self.window = self.achieved;
                self.stale = sample.in_flight;
                done = true;
            }
            self.achieved = 0.0;
            let target = self.target;
            self.adapt_at = sample
                .now
                .saturating_add(self.base_rtt)
                .saturating_add(target);
        }
        if done {
            (self.gathered, self.received) = (0.0, 0.0);
        }
        done
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and rounding down is wanted"
)]
fn scaled(span: Duration, factor: f64) -> Duration {
    Duration::from_ps((span.as_ns_f64() * factor * 1e3) as u64)
}

/// Bytes that `rate` sends in `span`.
fn bytes_in(rate: Rate, span: Duration) -> f64 {
    rate.as_f64() / 8.0 * span.as_secs_f64()
}
