//! What happens to packets one by one.

use fairlane_units::{Bytes, NodeId};

use crate::network::Network;
use crate::packet::{Kind, PacketRecord};
use crate::records::{TraceEvent, TraceRecord, TracedPacket};

impl Network {
    /// Records that `event` happened to packet `at` at a port.
    #[cold]
    pub fn trace(&mut self, number: u32, at: u32, event: TraceEvent) {
        let port = &self.ports[number as usize];
        if !self.recorder.tracer.nodes.contains(&port.node) {
            return;
        }
        let packet = self.packets.get(at);
        let kind = match packet.kind {
            Kind::Data => TracedPacket::Data,
            Kind::Ack => TracedPacket::Ack,
            Kind::Nak => TracedPacket::Nak,
            Kind::Cnp => TracedPacket::Cnp,
            Kind::Pause | Kind::Resume => TracedPacket::Pause,
            Kind::Tail => TracedPacket::Tail,
            Kind::Clear => TracedPacket::Clear,
        };
        let pause = kind == TracedPacket::Pause;
        let tuple = (!pause).then(|| self.tuple_of(packet));
        let neighbour = self.ports[port.peer as usize].node;
        let class = if pause && event != TraceEvent::Received {
            0
        } else {
            packet.class
        };
        let queue = if port.on_switch {
            port.queues[usize::from(class)].bytes
        } else {
            0
        };
        let record = TraceRecord {
            time: self.engine.now(),
            node: NodeId::new(port.node),
            port: self.graph.port_number(number),
            class,
            queue: Bytes::new(u64::from(queue)),
            event,
            packet: kind,
            source: tuple.map_or_else(|| NodeId::new(neighbour), |tuple| tuple.source),
            destination: tuple.map_or_else(|| NodeId::new(port.node), |tuple| tuple.destination),
            source_port: tuple.map_or(0, |tuple| tuple.source_port),
            destination_port: tuple.map_or(0, |tuple| tuple.destination_port),
            sequence: self.recorder.tracer.sequence(packet, self.settings.mtu),
            bytes: u32::from(packet.wire),
            payload: if packet.kind == Kind::Data {
                u32::from(packet.payload)
            } else {
                0
            },
            marked: packet.has(PacketRecord::MARKED),
        };
        self.recorder
            .tracer
            .records
            .push(self.engine.latest(), record);
    }

    /// Records that packet `at` passes a port where nothing waits: it comes and goes at once.
    #[cold]
    pub(crate) fn trace_passing(&mut self, number: u32, at: u32) {
        let packet = self.packets.get(at);
        let (class, wire) = (usize::from(packet.class), u32::from(packet.wire));
        self.ports[number as usize].queues[class].bytes += wire;
        self.trace(number, at, TraceEvent::Enqueued);
        self.ports[number as usize].queues[class].bytes -= wire;
        self.trace(number, at, TraceEvent::Dequeued);
    }
}
