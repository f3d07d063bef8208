//! What a scenario means where it is silent, by profile, with the source of each figure.

use fairlane_congestion::Marking;
use fairlane_units::{Bytes, Duration, Rate};

use crate::types::{
    AckPause, LinkSpec, Nic, PacketSizes, Pfc, Profile, Scenario, Star, Switch, Topology, Transport,
};

impl Scenario {
    /// The scenario of an empty file under `profile`.
    pub fn defaults(profile: Profile) -> Self {
        match profile {
            Profile::Exact => Self::default(),
            Profile::HpccNs3 => Self {
                profile,
                // PPP 14, IPv4 20, UDP 8 and 6 bytes of sequence number; acknowledgements padded to 60.
                packet: PacketSizes {
                    mtu: Bytes::new(1000),
                    header: Bytes::new(48),
                    first_header: Bytes::ZERO,
                    padding: Bytes::new(1),
                    ack: Bytes::new(14 + 20 + 12),
                    ack_min: Bytes::new(60),
                    pause: Bytes::new(43),
                    gap: Bytes::ZERO,
                    ..PacketSizes::default()
                },
                switch: Switch {
                    pfc: Pfc {
                        headroom_delays: Some(3),
                        ..Pfc::default()
                    },
                    ..Switch::default()
                },
                nic: Nic {
                    ack_pause: AckPause::Class3,
                    ..Nic::default()
                },
                transport: Transport {
                    ack_timeout: None,
                    ack_duplicates: false,
                    ..Transport::default()
                },
                ..Self::default()
            },
        }
    }

    /// The marking in force at ports whose rate has no threshold of its own: what is stated, else
    /// what the congestion control was published with.
    pub fn marking(&self) -> Marking {
        let (stated, published) = (&self.switch.ecn, self.congestion.algorithm.marking());
        Marking {
            kmin_per_gbps: stated.kmin_per_gbps.unwrap_or(published.kmin_per_gbps),
            kmax_per_gbps: stated.kmax_per_gbps.unwrap_or(published.kmax_per_gbps),
            pmax: stated.pmax.unwrap_or(published.pmax),
        }
    }

    /// From which queue on a port of `rate` marks packets, from which all of them, and with which probability just below that:
    /// what is stated for the rate, else [`marking`](Self::marking) in proportion to it. `None` if other rates have stated
    /// thresholds, but this one hasn't.
    pub fn thresholds(&self, rate: Rate) -> Option<(Bytes, Bytes, f64)> {
        let ecn = &self.switch.ecn;
        if let Some(own) = ecn.threshold.iter().find(|own| own.rate == rate) {
            return Some((own.kmin, own.kmax, own.pmax));
        }
        if ecn.enabled && !ecn.threshold.is_empty() {
            return None;
        }
        let marking = self.marking();
        let scale = |per_gbps: Bytes| {
            let bytes = u128::from(per_gbps.get()) * u128::from(rate.as_bps()) / 1_000_000_000;
            Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
        };
        let (kmin, kmax) = (scale(marking.kmin_per_gbps), scale(marking.kmax_per_gbps));
        Some((kmin, kmax, marking.pmax))
    }

    /// Whether switch ports that face hosts mark. Where receivers divide their links, the queue in front of them is no business of
    /// the congestion control.
    pub fn host_ports_mark(&self) -> bool {
        let stated = self.switch.ecn.host_ports;
        stated.unwrap_or_else(|| !self.congestion.apportioning().mode.divides())
    }
}

impl Default for Topology {
    fn default() -> Self {
        Self::Star(Star {
            hosts: 2,
            host_link: LinkSpec {
                rate: Rate::from_gbps(100),
                delay: Duration::from_us(1),
            },
            planes: 1,
        })
    }
}
