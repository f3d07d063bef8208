//! Constants of a network.

use fairlane_congestion::{ClassScheduler, PacingRounding, Selection, TelemetryFormat};
use fairlane_engine::Ties;
use fairlane_scenario::{ClassSchedule, Profile, Scenario};
use fairlane_units::{Bytes, Duration, Rate};

use crate::routing::{Link, Seeds};

/// What HPCC's simulator does differently at links and switches, each with what it replaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quirks {
    /// One stream of random numbers for the marks of all ports.
    pub one_stream: bool,
    /// Answers swap the UDP ports; source ports are counted for each pair of hosts, destination ports are what the
    /// workload says; switches hash from their numbers.
    pub five_tuples: bool,
    /// Telemetry has the precision and the hops of HPCC's header.
    pub telemetry: bool,
    /// The buffer is divided in 32 bits that may wrap, with headroom for one class and thresholds from the rate of
    /// the first host.
    pub buffers: bool,
}

/// Sizes of packets, what switches do, and how times are rounded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Payload of a full packet, in bytes.
    pub mtu: u32,
    /// Bytes of the largest packet on the wire, with the gap behind it.
    pub largest: u32,
    /// Bytes of a pause frame on the wire.
    pub pause: u16,
    /// Bytes that the gap behind every packet takes of the wire.
    pub gap: u16,
    /// How times of packets are rounded.
    pub rounding: PacingRounding,
    /// Which of simultaneous events comes first.
    pub ties: Ties,
    /// The seeds of the hashes by which switches choose among paths.
    pub seeds: Seeds,
    /// The seed of all random numbers: marks, losses, sprayed paths.
    pub seed: u64,
    /// How switches write telemetry into data packets, if they do.
    pub telemetry_format: Option<TelemetryFormat>,
    /// Whether ports that face hosts mark.
    pub host_ports_mark: bool,
    /// Whether switches pause their neighbours (IEEE 802.1Qbb).
    pub pfc: bool,
    /// Whether switches mark (RFC 3168).
    pub ecn: bool,
    /// The classes that packets travel in, as a bit set.
    pub classes: u8,
    /// What is done as HPCC's simulator does it.
    pub quirks: Quirks,
}

impl Quirks {
    const fn of(profile: Profile) -> Self {
        let as_ns3 = matches!(profile, Profile::HpccNs3);
        Self {
            one_stream: as_ns3,
            five_tuples: as_ns3,
            telemetry: as_ns3,
            buffers: as_ns3,
        }
    }
}

impl Settings {
    /// The settings of a scenario in which packets carry no telemetry; the largest packet is a full one with a WRITE's headers.
    pub fn new(scenario: &Scenario) -> Self {
        let packet = &scenario.packet;
        let size = |bytes: Bytes| bytes.get() as u16;
        let largest = packet.header + packet.mtu + packet.padding + packet.gap;
        let (rounding, ties, seeds) = match scenario.profile {
            Profile::Exact => (
                PacingRounding::Picosecond,
                Ties::Rank,
                Seeds::Run(scenario.seed),
            ),
            // Times are in nanoseconds, simultaneous events happen in the order in which they were scheduled.
            Profile::HpccNs3 => (PacingRounding::Ns3, Ties::Insertion, Seeds::Node),
        };
        Self {
            mtu: packet.mtu.get() as u32,
            largest: largest.get() as u32,
            pause: size(packet.pause),
            gap: size(packet.gap),
            rounding,
            ties,
            seeds,
            seed: scenario.seed,
            telemetry_format: None,
            host_ports_mark: scenario.host_ports_mark(),
            pfc: scenario.switch.pfc.enabled,
            ecn: scenario.switch.ecn.enabled,
            classes: 0,
            quirks: Quirks::of(scenario.profile),
        }
    }

    /// What schedules traffic classes as listed; nothing if none is.
    pub fn scheduler(&self, classes: &[ClassSchedule]) -> Option<ClassScheduler> {
        let selection = |it: &ClassSchedule| match it.weight {
            Some(weight) if !it.strict => Selection::Weight(weight),
            _ => Selection::Strict,
        };
        let selections: Vec<_> = (classes.iter().map(|it| (it.class, selection(it)))).collect();
        let largest = Bytes::new(u64::from(self.largest));
        (!classes.is_empty()).then(|| ClassScheduler::new(&selections, largest))
    }

    /// From the first bit of a packet of `wire` bytes at one end of a link to its last at the other, in picoseconds.
    pub fn pass(&self, link: &Link, wire: u16) -> u64 {
        self.serialization(u32::from(wire), link.rate).as_ps() + link.delay
    }

    /// The time of `bytes` at `rate`.
    pub fn serialization(&self, bytes: u32, rate: Rate) -> Duration {
        self.rounding
            .serialization(Bytes::new(u64::from(bytes)), rate)
    }
}
