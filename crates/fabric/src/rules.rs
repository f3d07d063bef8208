//! What a profile and a scenario make of the fabric: sizes, rounding, quirks.

use fairlane_congestion::{Needs, Params, Scope, TelemetryFormat, WindowMode, dasr};
use fairlane_network::settings as network;
use fairlane_nic::{Control, Leaving, Quantum, Settings, Sizes, Timers};
use fairlane_scenario::{
    AckPause, Congestion, Notification, PacketSizes, Profile, Recovery, Scenario,
};
use fairlane_units::{Bytes, Duration, Rate};
use fairlane_wire::{Opcode, Reth, Service};

/// What profile `hpcc-ns3` does at hosts and in packets as HPCC's simulator does it, each with what it replaces; what it does
/// at links and switches is in [`network::Quirks`](fairlane_network::settings::Quirks). These two files alone ask for the profile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quirks {
    /// No extension header but RETH.
    pub(crate) headers: bool,
    /// Base round trips have payload one way only, in whole nanoseconds.
    pub(crate) round_trips: bool,
    /// NICs look for the next queue pair when that simulator's do, and timers of controllers are events.
    pub(crate) nics: bool,
}

impl Quirks {
    const HPCC_NS3: Self = Self {
        headers: true,
        round_trips: true,
        nics: true,
    };

    fn of(profile: Profile) -> Self {
        match profile {
            Profile::Exact => Self::default(),
            Profile::HpccNs3 => Self::HPCC_NS3,
        }
    }
}

/// Constants of one run.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The settings of links and switches.
    pub(crate) net: network::Settings,
    /// Bytes of packets that belong to messages.
    pub(crate) sizes: Sizes,
    /// Whether packets carry the time at which they were sent.
    pub(crate) stamps: bool,
    /// Whether and how receivers apportion their links.
    pub(crate) dasr: dasr::Mode,
    /// Shortest time between CNPs, if marks come back as CNPs instead of in acknowledgements.
    pub(crate) cnp_interval: Option<Duration>,
    pub(crate) paced: bool,
    pub(crate) window: WindowMode,
    pub(crate) params: Params,
    pub(crate) transport: fairlane_transport::Config,
    /// Whether packets of READ responses are answered with feedback.
    pub(crate) response_feedback: bool,
    pub(crate) quirks: Quirks,
    /// The smallest acknowledgement under any control.
    smallest_ack: u16,
    /// Whether links lose packets, which is set once they are known.
    pub(crate) lossy: bool,
}

impl Rules {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self::under(scenario, &scenario.congestion)
    }

    /// The rules of a scenario all of whose queue pairs have this congestion control.
    pub(crate) fn under(scenario: &Scenario, congestion: &Congestion) -> Self {
        let quirks = Quirks::of(scenario.profile);
        let packet = &scenario.packet;
        let multiplier = congestion.hpcc.telemetry_multiplier;
        let mut net = network::Settings::new(scenario);
        let format = match net.quirks.telemetry {
            true => TelemetryFormat::hpcc_header(multiplier),
            false => TelemetryFormat::EXACT,
        };
        // Without control there is nothing to measure for.
        let (params, window) = match congestion.scope {
            Scope::None => (Params::uncontrolled(), WindowMode::None),
            _ => (congestion.params(), congestion.window_mode()),
        };
        let needs = params.algorithm().needs();
        let measurement = measurement(packet, needs);
        let dasr = congestion.apportioning().mode;
        // Nobody sends CNPs to senders that don't hear them.
        let by_cnp =
            congestion.notification == Notification::Cnp && congestion.algorithm.needs().hears_cnps;
        let sizes = sizes(packet, measurement, dasr, quirks);
        net.telemetry_format = needs.telemetry.then_some(format);
        let mut rules = Self {
            net,
            smallest_ack: sizes.ack,
            sizes,
            stamps: needs.round_trip,
            dasr,
            cnp_interval: by_cnp.then_some(congestion.cnp_interval),
            paced: congestion.paced,
            window,
            params,
            transport: transport(scenario),
            response_feedback: needs.telemetry
                || needs.round_trip
                || (needs.marks && congestion.notification == Notification::Ack)
                || window != WindowMode::None
                || congestion.scope.is_shared()
                || dasr.is_on(),
            quirks,
            lossy: false,
        };
        rules.net.largest = rules.largest_of_own();
        rules
    }

    /// Has switches and links provide what queue pairs under other rules need, too, and packets of their sizes.
    pub(crate) fn provide(&mut self, others: &Self) {
        let (own, theirs) = (&mut self.net, &others.net);
        own.telemetry_format = own.telemetry_format.or(theirs.telemetry_format);
        own.largest = own.largest.max(theirs.largest);
        self.stamps |= others.stamps;
        self.smallest_ack = self.smallest_ack.min(others.smallest_ack);
    }

    /// What NICs know of them if they are those of some queue pairs only.
    pub(crate) fn control(&self) -> Control {
        Control {
            params: self.params.clone(),
            window: self.window,
            cnp_interval: self.cnp_interval,
            read_feedback: self.response_feedback,
            sizes: self.sizes.clone(),
        }
    }

    /// Decides by how many packets one may overtake another before the one behind counts as lost. Left to
    /// us, it is a round trip of packets where those of a flow take different paths: a packet that is late by
    /// less isn't lost, as RFC 8985, section 6.2, limits the reordering window of RACK to a smoothed
    /// round trip. Ours is the longest without queues, of `bdp` at `rate`, with a queue as long as it may be without marks.
    pub(crate) fn tolerate(&mut self, scenario: &Scenario, in_order: bool, bdp: Bytes, rate: Rate) {
        let transport = &scenario.transport;
        if transport.recovery == Recovery::GoBackN {
            return;
        }
        let unmarked = scenario.marking().kmin_per_gbps.get() * (rate.as_bps() / 1_000_000_000);
        let packets = (bdp.get() + unmarked).div_ceil(u64::from(self.net.mtu));
        // The receiver must have room to see a gap from behind.
        let most = u64::from(transport.reorder_window.saturating_sub(1));
        let derived = if in_order {
            0
        } else {
            packets.min(most) as u32
        };
        self.transport.reorder_tolerance = transport.reorder_tolerance.unwrap_or(derived);
    }

    /// Whether packets collect telemetry, and whether they have a [stamp](fairlane_network::packet::Stamp): of their time, or of what
    /// their sender has yet to send.
    #[inline]
    pub(crate) const fn collected(&self) -> (bool, bool) {
        let stamps = self.stamps || self.dasr.states_backlog();
        (self.net.telemetry_format.is_some(), stamps)
    }

    /// Wire size of a packet with payload, or of a request without.
    #[inline]
    pub(crate) const fn data_wire(&self, opcode: Opcode, payload: u16) -> u16 {
        self.sizes.data(opcode, payload)
    }

    /// Wire size of a reply.
    #[inline]
    pub(crate) const fn reply_wire(&self, opcode: Opcode) -> u16 {
        self.sizes.reply(opcode)
    }

    /// What all NICs have in common.
    pub(crate) fn nic(&self, scenario: &Scenario) -> Settings {
        Settings {
            transport: self.transport.clone(),
            params: self.params.clone(),
            scope: scenario.congestion.scope,
            coupled: false,
            tenant: scenario.congestion.tenant.clone(),
            dasr: scenario.congestion.apportioning(),
            per_tenant_feedback: scenario.switch.tenant_feedback,
            window: self.window,
            rounding: self.net.rounding,
            paced: self.paced,
            cnp_interval: self.cnp_interval,
            read_feedback: self.response_feedback,
            sizes: self.sizes.clone(),
            full: Bytes::new(u64::from(self.net.largest) - u64::from(self.net.gap)),
            ack_pause: match scenario.nic.ack_pause {
                AckPause::Never => fairlane_nic::AckPause::Never,
                AckPause::OwnClass => fairlane_nic::AckPause::OwnClass,
                AckPause::Class3 => fairlane_nic::AckPause::Class3,
            },
            ack_control_class: scenario.transport.ack_control_class,
            timers: match self.quirks.nics {
                true => Timers::Driven,
                false => Timers::Lazy,
            },
            classes: self.net.scheduler(&scenario.nic.class),
            controls: Vec::new(),
            quantum: Quantum::PACKET,
            leaving: match self.quirks.nics {
                true => Leaving::WhenPassed,
                false => Leaving::AtOnce,
            },
        }
    }

    /// The UDP destination port of data: RoCEv2's, unless the profile sends the label itself.
    pub(crate) const fn destination_port(&self, label: u16) -> u16 {
        if self.net.quirks.five_tuples {
            label
        } else {
            4791
        }
    }

    /// The smallest wire size of any packet.
    pub(crate) fn smallest(&self) -> u16 {
        self.smallest_ack.min(self.net.pause).min(self.sizes.cnp)
    }

    fn largest_of_own(&self) -> u32 {
        let full = Opcode::ALL
            .iter()
            .filter(|opcode| opcode.service() == Service::Rc && opcode.has_payload())
            .filter(|opcode| !opcode.has_immediate())
            .map(|&opcode| self.data_wire(opcode, self.net.mtu as u16));
        let data = full.max().unwrap_or(0);
        u32::from(data.max(self.sizes.cnp)) + u32::from(self.net.gap)
    }
}

/// Bytes that data packets and acknowledgements carry for the congestion control.
fn measurement(packet: &PacketSizes, needs: Needs) -> u16 {
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

/// Bytes that data packets and acknowledgements carry for apportioning. What is measured has a header already, which has room
/// for demand and share (`docs/wire.md`).
fn apportioning(mode: dasr::Mode, measurement: u16) -> [u16; 2] {
    const WORD: u16 = 4;
    let head = |says: bool| WORD * u16::from(says && measurement == 0);
    let backlog = WORD * u16::from(mode.states_backlog());
    [head(mode.declares()) + backlog, head(mode.divides())]
}

/// What packets take: data and acknowledgements carry what the congestion control measures and what apportioning says.
fn sizes(packet: &PacketSizes, measurement: u16, dasr: dasr::Mode, quirks: Quirks) -> Sizes {
    let size = |bytes: Bytes| bytes.get() as u16;
    let apportioning = apportioning(dasr, measurement);
    Sizes {
        header: size(packet.header) + measurement + apportioning[0],
        extension: extensions(packet, quirks.headers),
        padding: size(packet.padding).max(1) - 1,
        ack: (size(packet.ack) + measurement + apportioning[1]).max(size(packet.ack_min)),
        cnp: size(packet.cnp),
        gap: size(packet.gap),
    }
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
fn extensions(packet: &PacketSizes, only_reth: bool) -> [u16; 256] {
    let mut sizes = [0; 256];
    for opcode in Opcode::ALL {
        let length = opcode.extension().length() as u16;
        sizes[usize::from(opcode.code())] = match opcode.has_reth() {
            true => packet.first_header.get() as u16 + length - Reth::LENGTH as u16,
            false if only_reth => 0,
            false => length,
        };
    }
    sizes
}
