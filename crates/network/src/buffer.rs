//! The shared buffer of a switch: admission, pause thresholds, release.
//!
//! Every packet is charged to the port that sent it, and its class: first to a small reserve, then
//! to shared buffer as long as that port and class stays below a threshold, then to headroom. The
//! threshold is a share of the shared buffer that is still free. Use of headroom, or of shared
//! buffer up to the threshold, pauses the peer. Formulas: the model that HPCC's simulator made
//! common. A fixed threshold takes the place of that share if asked for.

use crate::port::{Ingress, Port};

/// The buffer of one switch.
#[derive(Clone, Copy, Debug)]
pub struct SharedBuffer {
    /// Total less headroom and reserve of all ports; in the wrapping model it may be "negative".
    pub(crate) shareable: u32,
    pub(crate) shared_used: u32,
    pub(crate) reserve: u32,
    pub(crate) resume_offset: u32,
    /// The threshold of ports whose shift, [`FIXED`], leaves nothing of what is free.
    pub(crate) fixed: u32,
    /// Whether too small a buffer wraps to a huge one, as 32-bit arithmetic in HPCC's simulator does.
    pub(crate) wraps: bool,
    /// Whether it pauses neighbours.
    pub(crate) pfc: bool,
}

/// The shift of a port with a fixed threshold.
pub(crate) const FIXED: u8 = u8::MAX;

impl SharedBuffer {
    #[inline]
    const fn free(&self) -> u32 {
        if self.wraps {
            self.shareable.wrapping_sub(self.shared_used)
        } else {
            self.shareable.saturating_sub(self.shared_used)
        }
    }

    #[inline]
    fn threshold(&self, port: &Port) -> u32 {
        self.threshold_at(self.free(), port)
    }

    /// The threshold with so much free.
    #[inline]
    fn threshold_at(&self, free: u32, port: &Port) -> u32 {
        free.checked_shr(port.threshold_shift.into())
            .unwrap_or(self.fixed)
    }

    #[inline]
    const fn shared(&self, ingress: &Ingress) -> u32 {
        ingress.bytes.saturating_sub(self.reserve)
    }

    /// Whether charging `wire` bytes that `port` sent and giving them back at once changes nothing:
    /// they fit, and lead to neither pause nor resume.
    #[inline]
    pub(crate) fn is_untouched(&self, port: &Port, class: u8, wire: u32) -> bool {
        let ingress = &port.ingress[usize::from(class)];
        // As if all of it came from shared buffer.
        let threshold = self.threshold_at(self.free().saturating_sub(wire), port);
        ingress.headroom == 0 && port.pausing & 1 << class == 0 && ingress.bytes + wire < threshold
    }

    /// Charges `wire` bytes that `port` sent; `false` if they must be dropped.
    #[inline]
    pub(crate) fn admit(&mut self, port: &mut Port, class: u8, wire: u32) -> bool {
        let threshold = self.threshold(port);
        let headroom_limit = port.headroom_limit;
        let ingress = &mut port.ingress[usize::from(class)];
        let over_headroom = wire + ingress.headroom > headroom_limit;
        if over_headroom && wire.wrapping_add(self.shared(ingress)) > threshold {
            return false;
        }
        let total = ingress.bytes + wire;
        if total <= self.reserve {
            ingress.bytes = total;
        } else if total - self.reserve > threshold {
            ingress.headroom += wire;
        } else {
            ingress.bytes = total;
            self.shared_used += wire.min(total - self.reserve);
        }
        true
    }

    /// Whether `port` should be paused now.
    #[inline]
    pub(crate) fn should_pause(&self, port: &Port, class: u8) -> bool {
        if !self.pfc || port.pausing & 1 << class != 0 {
            return false;
        }
        let ingress = &port.ingress[usize::from(class)];
        ingress.headroom > 0 || self.shared(ingress) >= self.threshold(port)
    }

    /// Whether the pause of `port` should end now.
    #[inline]
    pub(crate) fn should_resume(&self, port: &Port, class: u8) -> bool {
        if port.pausing & 1 << class == 0 {
            return false;
        }
        let ingress = &port.ingress[usize::from(class)];
        let shared = self.shared(ingress);
        ingress.headroom == 0
            && (shared == 0 || shared.wrapping_add(self.resume_offset) <= self.threshold(port))
    }

    /// Gives back `wire` bytes that `port` had sent: headroom first, then shared, then reserve.
    #[inline]
    pub fn release(&mut self, port: &mut Port, class: u8, wire: u32) {
        let ingress = &mut port.ingress[usize::from(class)];
        let from_headroom = ingress.headroom.min(wire);
        let rest = wire - from_headroom;
        let from_shared = rest.min(self.shared(ingress));
        ingress.headroom -= from_headroom;
        ingress.bytes -= rest;
        self.shared_used -= from_shared;
    }
}

#[cfg(test)]
mod tests {
    use fairlane_congestion::PacingRounding;
    use fairlane_engine::Stream;
    use fairlane_units::{Duration, Rate};
    use proptest::prelude::*;

    use super::*;
    use crate::port::PortSpec;

    fn port(headroom_limit: u32, threshold_shift: u8) -> Port {
        let spec = PortSpec {
            number: 0,
            node: 0,
            owner: 0,
            peer: 1,
            peer_owner: 0,
            on_switch: true,
            peer_on_switch: true,
            rate: Rate::from_mbps(1000),
            delay: Duration::from_us(1),
            loss_rate: 0.0,
        };
        let streams = [Stream::new(0, 0), Stream::new(0, 1)];
        let mut port = Port::new(spec, PacingRounding::Picosecond, streams);
        port.headroom_limit = headroom_limit;
        port.threshold_shift = threshold_shift;
        port
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// What is untouched would have been charged and given back without consequence.
        #[test]
        fn untouched_is_charged_and_given_back(
            (shareable, shared_used, bytes) in (0u32..9000, 0u32..3000, 0u32..3000),
            (headroom, headroom_limit) in (prop::sample::select(vec![0u32, 0, 700]), 0u32..3000),
            (reserve, wire, shift) in (0u32..600, 1u32..2000, prop::sample::select(vec![0u8, 1, 2, 32, FIXED])),
            fixed in prop::sample::select(vec![0u32, 500, 2500]),
            (wraps, pfc, pausing) in (any::<bool>(), any::<bool>(), prop::sample::select(vec![0u8, 8])),
        ) {
            let mut buffer = SharedBuffer {
                shareable,
                shared_used: shared_used.max(bytes.saturating_sub(reserve)),
                reserve,
                resume_offset: 100,
                fixed,
                wraps,
                pfc,
            };
            let mut port = port(headroom_limit, shift);
            port.pausing = pausing;
            port.ingress[3] = Ingress { bytes, headroom };
            let used = buffer.shared_used;
            if buffer.is_untouched(&port, 3, wire) {
                prop_assert!(buffer.admit(&mut port, 3, wire));
                prop_assert!(!buffer.should_pause(&port, 3));
                buffer.release(&mut port, 3, wire);
                prop_assert!(!buffer.should_resume(&port, 3));
                let ingress = port.ingress[3];
                prop_assert_eq!((ingress.bytes, ingress.headroom), (bytes, 0));
                prop_assert_eq!(buffer.shared_used, used);
            }
        }
    }
}
