//! What a profile and a scenario make of the fabric: sizes, rounding, quirks.

use fairlane_congestion::{PacingRounding, Params, TelemetryFormat, WindowMode};
use fairlane_engine::Ties;
use fairlane_scenario::{AckPause, Congestion, Packet, Profile, Recovery, Scenario};
use fairlane_units::{Bytes, Duration};
use fairlane_wire::{Opcode, Reth};

use crate::routing::Seeds;

/// Constants of one run.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) mtu: u32,
    pub(crate) header: u16,
    /// Extension headers by opcode.
    extension: [u16; 256],
    /// One less than what payload is padded to a multiple of.
    padding: u16,
    pub(crate) ack: u16,
    pub(crate) telemetry: u16,
    pub(crate) pause: u16,
    pub(crate) gap: u16,
    pub(crate) rounding: PacingRounding,
    pub(crate) ties: Ties,
    pub(crate) seeds: Seeds,
    /// Whether network cards wake and forget queue pairs exactly as HPCC's simulator does.
    pub(crate) nic_quirks: bool,
    pub(crate) telemetry_format: Option<TelemetryFormat>,
    pub(crate) pfc: bool,
    pub(crate) ecn: bool,
    pub(crate) ack_pause: AckPause,
    pub(crate) ack_control_class: bool,
    pub(crate) paced: bool,
    pub(crate) window: WindowMode,
    pub(crate) params: Params,
    pub(crate) transport: fairlane_transport::Config,
    /// Whether packets of READ responses are answered with feedback.
    pub(crate) response_feedback: bool,
    pub(crate) hpcc_ns3: bool,
    pub(crate) seed: u64,
}

impl Rules {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let hpcc_ns3 = scenario.profile == Profile::HpccNs3;
        let packet = &scenario.packet;
        let size = |bytes: Bytes| bytes.get() as u16;
        let multiplier = scenario.congestion.hpcc.telemetry_multiplier;
        let format = if hpcc_ns3 {
            TelemetryFormat::hpcc_header(multiplier)
        } else {
            TelemetryFormat::EXACT
        };
        let needed = scenario.congestion.algorithm.needs_telemetry();
        let telemetry = if needed { size(packet.telemetry) } else { 0 };
        Self {
            mtu: packet.mtu.get() as u32,
            header: size(packet.header),
            extension: extensions(packet, hpcc_ns3),
            padding: size(packet.padding).max(1) - 1,
            ack: (size(packet.ack) + telemetry).max(size(packet.ack_min)),
            telemetry,
            pause: size(packet.pause),
            gap: size(packet.gap),
            rounding: if hpcc_ns3 {
                PacingRounding::Ns3
            } else {
                PacingRounding::Picosecond
            },
            ties: if hpcc_ns3 {
                Ties::Insertion
            } else {
                Ties::Rank
            },
            seeds: if hpcc_ns3 {
                Seeds::Node
            } else {
                Seeds::Run(scenario.seed)
            },
            nic_quirks: hpcc_ns3,
            telemetry_format: needed.then_some(format),
            pfc: scenario.switch.pfc.enabled,
            ecn: scenario.switch.ecn.enabled,
            ack_pause: scenario.nic.ack_pause,
            ack_control_class: scenario.transport.ack_control_class,
            paced: scenario.congestion.paced,
            window: scenario.congestion.window_mode(),
            params: params(&scenario.congestion, format),
            transport: fairlane_transport::Config {
                mtu: packet.mtu,
                ack_timeout: scenario.transport.ack_timeout,
                retry_limit: scenario.transport.retry_limit,
                nak_interval: scenario.transport.nak_interval,
                ack_duplicates: scenario.transport.ack_duplicates,
                ack_interval: scenario.transport.ack_interval,
                selective_window: match scenario.transport.recovery {
                    Recovery::GoBackN => 0,
                    Recovery::SelectiveRepeat => scenario.transport.reorder_window,
                },
                direct_placement: scenario.transport.direct_placement,
                ..fairlane_transport::Config::default()
            },
            response_feedback: scenario.congestion.algorithm
                != fairlane_congestion::Algorithm::Fixed
                || scenario.congestion.window_mode() != WindowMode::None,
            hpcc_ns3,
            seed: scenario.seed,
        }
    }

    /// Wire size of a packet with payload, or of a request without.
    #[inline]
    pub(crate) const fn data_wire(&self, opcode: Opcode, payload: u16) -> u16 {
        let padded = (payload + self.padding) & !self.padding;
        self.header + self.telemetry + self.extension[opcode.code() as usize] + padded
    }

    /// Wire size of a reply.
    #[inline]
    pub(crate) const fn reply_wire(&self, opcode: Opcode) -> u16 {
        match opcode {
            Opcode::RcAtomicAcknowledge => self.ack + 8,
            _ => self.ack,
        }
    }

    /// The UDP destination port of data: RoCEv2's, unless the profile sends the label itself.
    pub(crate) const fn destination_port(&self, label: u16) -> u16 {
        if self.hpcc_ns3 { label } else { 4791 }
    }

    /// The largest wire size of any packet, with its gap.
    pub(crate) const fn largest(&self) -> u32 {
        self.data_wire(Opcode::RcWriteOnly, self.mtu as u16) as u32 + self.gap as u32
    }

    /// The time of `bytes` at `rate`.
    pub(crate) fn serialization(&self, bytes: u32, rate: fairlane_units::Rate) -> Duration {
        self.rounding
            .serialization(Bytes::new(u64::from(bytes)), rate)
    }
}

/// Bytes of extension headers; that of the RETH is a setting.
fn extensions(packet: &Packet, hpcc_ns3: bool) -> [u16; 256] {
    let mut sizes = [0; 256];
    for opcode in Opcode::ALL {
        let length = opcode.extension().length() as u16;
        sizes[usize::from(opcode.code())] = match opcode.has_reth() {
            true => packet.first_header.get() as u16 + length - Reth::LENGTH as u16,
            false if hpcc_ns3 => 0,
            false => length,
        };
    }
    sizes
}

fn params(congestion: &Congestion, format: TelemetryFormat) -> Params {
    use fairlane_congestion::Algorithm;
    match congestion.algorithm {
        Algorithm::Fixed => Params::Fixed(congestion.fixed),
        Algorithm::Dcqcn => Params::Dcqcn(congestion.dcqcn.clone().into()),
        Algorithm::Hpcc => {
            let mut config = congestion.hpcc.clone();
            config.telemetry = format;
            Params::Hpcc(config.into())
        }
    }
}
