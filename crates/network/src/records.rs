//! What is recorded of ports and packets.

use fairlane_units::{Bytes, Duration, NodeId, PortId, Rate, Time};
use serde::Serialize;

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// The node that owns it.
    pub node: NodeId,
    /// Whether that node is a switch.
    pub on_switch: bool,
    /// Number of the port at its node, from 1, in the order of the topology's links.
    pub number: u32,
    /// The port at the other end.
    pub peer: PortId,
    /// The node at the other end.
    pub peer_node: NodeId,
    /// Rate.
    pub rate: Rate,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flux {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// One thing that happened to a packet at a traced node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// When.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// Port number at the node, from 1.
    pub port: u32,
    /// Traffic class of the queue.
    pub class: u8,
    /// Bytes waiting in that queue afterwards.
    pub queue: Bytes,
    /// What.
    pub event: TraceEvent,
    /// Which kind of packet.
    pub packet: TracedPacket,
    /// Sender of the packet.
    pub source: NodeId,
    /// Receiver of the packet.
    pub destination: NodeId,
    /// UDP source port of the packet.
    pub source_port: u16,
    /// UDP destination port of the packet.
    pub destination_port: u16,
    /// Position in the stream: of the first payload byte, or the next one expected.
    pub sequence: u64,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Payload.
    pub payload: u32,
    /// Whether it is marked, or echoes a mark.
    pub marked: bool,
}

/// What happened to a traced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// The packet arrived.
    Received,
    /// The packet joined a queue.
    Enqueued,
    /// The packet left a queue and its transmission began.
    Dequeued,
    /// The packet was lost.
    Dropped,
}

/// The kind of a traced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedPacket {
    /// Payload.
    Data,
    /// Acknowledgement.
    Ack,
    /// Negative acknowledgement.
    Nak,
    /// Congestion notification.
    Cnp,
    /// Pause or resume.
    Pause,
    /// Follows the last packet of a stream that has left a port for another.
    Tail,
    /// Tells the switch that sent a tail that it is through.
    Clear,
}

/// A pause frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// When.
    pub time: Time,
    /// The port that received it and stops sending.
    pub port: PortId,
    /// The class that it pauses.
    pub class: u8,
    /// Whether it pauses, or ends a pause.
    pub pause: bool,
}

/// A port that more wanted to use than could, in at least one interval of
/// the time series: its packets and the gaps behind them took 90 % of the interval, or
/// its queue passed kmin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedPort {
    /// The port.
    pub port: PortId,
    /// Length of the intervals in which it was contended.
    pub contended_for: Duration,
    /// By tenant, bytes of data packets sent in the whole run, headers included.
    pub sent: Vec<u64>,
    /// By tenant, those of them in intervals in which the port was contended.
    pub contended: Vec<u64>,
}
