//! What a profile and a scenario make of the fabric: sizes, rounding, quirks.

use fairlane_congestion::{Needs, PacingRounding, Params, Scope, TelemetryFormat, WindowMode};
use fairlane_engine::Ties;
use fairlane_scenario::{AckPause, Notification, Packet, Profile, Recovery, Scenario};
use fairlane_units::{Bytes, Duration};
use fairlane_wire::{Opcode, Reth, Service};

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
    /// What data packets and acknowledgements carry for the congestion control.
    pub(crate) measurement: u16,
    pub(crate) cnp: u16,
    pub(crate) pause: u16,
    pub(crate) gap: u16,
    pub(crate) rounding: PacingRounding,
    pub(crate) ties: Ties,
    pub(crate) seeds: Seeds,
    /// Whether network cards wake and forget queue pairs exactly as HPCC's simulator does.
    pub(crate) nic_quirks: bool,
    pub(crate) telemetry_format: Option<TelemetryFormat>,
    /// Whether packets carry the time at which they were sent.
    pub(crate) stamps: bool,
    /// Shortest time between CNPs, if marks come back as CNPs instead of in acknowledgements.
    pub(crate) cnp_interval: Option<Duration>,
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
        let congestion = &scenario.congestion;
        // Without control there is nothing to measure for.
        let (params, window) = match congestion.scope {
            Scope::None => (Params::uncontrolled(), WindowMode::None),
            _ => (congestion.params(), congestion.window_mode()),
        };
        let needs = params.algorithm().needs();
        let measurement = measurement(packet, needs);
        let by_cnp = congestion.notification == Notification::Cnp;
        Self {
            mtu: packet.mtu.get() as u32,
            header: size(packet.header),
            extension: extensions(packet, hpcc_ns3),
            padding: size(packet.padding).max(1) - 1,
            ack: (size(packet.ack) + measurement).max(size(packet.ack_min)),
            measurement,
            cnp: size(packet.cnp),
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
            telemetry_format: needs.telemetry.then_some(format),
            stamps: needs.round_trip,
            cnp_interval: by_cnp.then_some(congestion.cnp_interval),
            pfc: scenario.switch.pfc.enabled,
            ecn: scenario.switch.ecn.enabled,
            ack_pause: scenario.nic.ack_pause,
            ack_control_class: scenario.transport.ack_control_class,
            paced: congestion.paced,
            window,
            params,
            transport: transport(scenario),
            response_feedback: needs.telemetry
                || needs.round_trip
                || (needs.marks && congestion.notification == Notification::Ack)
                || window != WindowMode::None
                || congestion.scope.is_shared(),
            hpcc_ns3,
            seed: scenario.seed,
        }
    }

    /// Wire size of a packet with payload, or of a request without.
    #[inline]
    pub(crate) const fn data_wire(&self, opcode: Opcode, payload: u16) -> u16 {
        let padded = (payload + self.padding) & !self.padding;
        self.header + self.measurement + self.extension[opcode.code() as usize] + padded
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
    pub(crate) fn largest(&self) -> u32 {
        let full = Opcode::ALL
            .iter()
            .filter(|opcode| opcode.service() == Service::Rc && opcode.has_payload())
            .filter(|opcode| !opcode.has_immediate())
            .map(|&opcode| self.data_wire(opcode, self.mtu as u16));
        let data = full.max().unwrap_or(0);
        u32::from(data.max(self.cnp)) + u32::from(self.gap)
    }

    /// The time of `bytes` at `rate`.
    pub(crate) fn serialization(&self, bytes: u32, rate: fairlane_units::Rate) -> Duration {
        self.rounding
            .serialization(Bytes::new(u64::from(bytes)), rate)
    }
}

/// Bytes that data packets and acknowledgements carry for the congestion control.
fn measurement(packet: &Packet, needs: Needs) -> u16 {
    let telemetry = if needs.telemetry {
        packet.telemetry
    } else {
        Bytes::ZERO
    };
    let stamp = if needs.round_trip {
        packet.time_stamp
    } else {
        Bytes::ZERO
    };
    (telemetry + stamp).get() as u16
}

fn transport(scenario: &Scenario) -> fairlane_transport::Config {
    let transport = &scenario.transport;
    fairlane_transport::Config {
        service: service(transport.service),
        mtu: scenario.packet.mtu,
        ack_timeout: transport.ack_timeout,
        retry_limit: transport.retry_limit,
        nak_interval: transport.nak_interval,
        ack_duplicates: transport.ack_duplicates,
        ack_interval: transport.ack_interval,
        selective_window: match transport.recovery {
            Recovery::GoBackN => 0,
            Recovery::SelectiveRepeat => transport.reorder_window,
        },
        direct_placement: transport.direct_placement,
        ..fairlane_transport::Config::default()
    }
}

/// The service of queue pairs as the transport calls it.
const fn service(service: fairlane_scenario::Service) -> fairlane_transport::Service {
    use fairlane_transport::Service;
    match service {
        fairlane_scenario::Service::Rc => Service::ReliableConnection,
        fairlane_scenario::Service::Uc => Service::UnreliableConnection,
        fairlane_scenario::Service::Ud => Service::UnreliableDatagram,
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
