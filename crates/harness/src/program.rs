//! Programs: what two applications do, over which queue pairs and which network.

use fairlane_transport::{Config, Remote, Service, WorkRequest};
use fairlane_units::{Bytes, Duration, Psn};

use super::choices::Choices;
use super::generate;

/// How much a queue pair holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Work requests posted and not completed.
    pub requests: u32,
    /// Receives posted and not taken.
    pub receives: u32,
}

/// What kind of programs to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Reliable connections over a network that changes nothing.
    Clean,
    /// Reliable connections with go-back-N at both ends.
    GoBackN,
    /// Reliable connections with selective repeat at one end or both, some with direct placement.
    Selective,
    /// Unreliable connections.
    Unreliable,
    /// Unreliable connections and datagrams over a network that changes nothing.
    UnreliableClean,
    /// Datagrams.
    Datagram,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 6] = [
        Self::Clean,
        Self::GoBackN,
        Self::Selective,
        Self::Unreliable,
        Self::UnreliableClean,
        Self::Datagram,
    ];

    /// The profile's name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::GoBackN => "go-back-n",
            Self::Selective => "selective",
            Self::Unreliable => "unreliable",
            Self::UnreliableClean => "unreliable-clean",
            Self::Datagram => "datagram",
        }
    }

    /// Whether the network neither loses, repeats, reorders nor alters anything.
    pub const fn is_clean(self) -> bool {
        matches!(self, Self::Clean | Self::UnreliableClean)
    }
}

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one.
    A,
    /// The other.
    B,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// The network between the hosts, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// How long a host is busy with one packet.
    pub slot: Duration,
    /// How long a packet travels at least.
    pub delay: Duration,
    /// How much longer it may travel, which reorders packets.
    pub jitter: Duration,
    /// Packets of a hundred that are lost.
    pub loss: u8,
    /// Packets of a hundred that arrive twice.
    pub duplication: u8,
    /// Packets of a hundred of which a bit is flipped.
    pub corruption: u8,
    /// Packets of a hundred that are marked.
    pub marks: u8,
    /// Start of the network's random numbers.
    pub seed: u64,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its parameters, the same for all ends at a host.
    pub config: Config,
    /// How much it holds.
    pub capacity: Capacity,
    /// Its first packet's number.
    pub initial: Psn,
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Posts a work request.
    Request(WorkRequest),
    /// Posts a receive of so many bytes.
    Receive(Bytes),
    /// Asks for SQD.
    Drain,
    /// Goes back to RTS from SQD or SQE.
    Resume,
    /// Asks for ERR.
    Fail,
    /// Both hosts reset their queue pairs and connect them again.
    Reconnect(Psn, Psn),
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time since the step before.
    pub after: Duration,
    /// Which host takes it.
    pub side: Side,
    /// Which connection it is about.
    pub connection: usize,
    /// What is done.
    pub action: Action,
}

/// A part of a host's memory with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte and its key.
    pub start: Remote,
    /// Its length.
    pub length: Bytes,
    /// Whether READs are permitted.
    pub read: bool,
    /// Whether WRITEs are permitted.
    pub write: bool,
    /// Whether atomics are permitted.
    pub atomic: bool,
    /// The connection whose SENDs may invalidate the key.
    pub owner: Option<usize>,
}

/// What two applications do, over which queue pairs and which network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What kind it is.
    pub profile: Profile,
    /// The network.
    pub link: Link,
    /// Both ends of each connection.
    pub connections: Vec<[End; 2]>,
    /// The memory of each host, one key beside the other, with gaps that belong to no region.
    pub regions: [Vec<Region>; 2],
    /// What is done.
    pub steps: Vec<Step>,
    /// Work requests whose data can't be read, by host, connection and identifier.
    pub unreadable: Vec<(Side, usize, u64)>,
}

impl Program {
    /// Makes a program.
    pub fn generate(profile: Profile, choices: &mut Choices) -> Self {
        generate::program(profile, choices)
    }

    /// Makes the program of a seed.
    pub fn from_seed(profile: Profile, seed: u64) -> Self {
        let start = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ profile as u64;
        Self::generate(profile, &mut Choices::from_seed(start))
    }

    /// Makes a program of a fuzzer's bytes; the first one chooses the profile.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut choices = Choices::from_bytes(bytes);
        let profile = choices.pick(&Profile::ALL);
        Self::generate(profile, &mut choices)
    }

    /// The service of a connection.
    pub fn service(&self, connection: usize) -> Service {
        self.connections[connection][0].config.service
    }
}
