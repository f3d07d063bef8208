//! What is recorded of packets and pauses, for the driver.

use fairlane_engine::Engine;

use crate::capture::{Capture, CaptureRecord};
use crate::log::Log;
use crate::packet::PacketPool;
use crate::records::{PauseRecord, TraceRecord};
use crate::trace::Tracer;

/// Records of packets and pauses, in order.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Packets at traced nodes.
    pub tracer: Tracer,
    /// Packets at captured ports.
    pub(crate) capture: Capture,
    /// Pause frames that have arrived.
    pub(crate) pauses: Log<PauseRecord>,
}

/// What a run has recorded.
#[derive(Debug)]
pub struct Recorded {
    /// Packets at traced nodes.
    pub trace: Vec<TraceRecord>,
    /// Pause frames that have arrived.
    pub pauses: Vec<PauseRecord>,
    /// Packets at captured ports.
    pub capture: Vec<CaptureRecord>,
}

impl Recorder {
    pub(crate) fn of(capture: Capture) -> Self {
        Self {
            capture,
            ..Self::default()
        }
    }

    /// Records that a port sends or has received a packet, if it is captured.
    #[cold]
    pub(crate) fn capture(
        &mut self,
        engine: &Engine,
        port: u32,
        outbound: bool,
        packets: &PacketPool,
        at: u32,
    ) {
        let packet = packets.get(at);
        let record = self.capture.record(engine.now(), (port, outbound), packet);
        if let Some(record) = record {
            self.capture.records.push(engine.latest(), record);
            if let Some(places) = &mut self.capture.places {
                places.push(at);
            }
        }
    }

    /// Whether any port is captured.
    pub fn captures(&self) -> bool {
        self.capture.is_on()
    }

    /// Gives the order of what is recorded next within the present event, which several parts may handle: the
    /// order in which one that handles all of it comes to it.
    pub fn set_order(&mut self, order: u32) {
        self.tracer.records.order = order;
        self.capture.records.order = order;
        self.pauses.order = order;
    }

    /// Keeps what orders records of several parts.
    pub(crate) fn keep_places(&mut self) {
        self.tracer.records.keep_places();
        self.capture.records.keep_places();
        self.pauses.keep_places();
    }

    /// Takes in the records of another part.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.tracer.records.absorb(other.tracer.records);
        self.capture.records.absorb(other.capture.records);
        self.pauses.absorb(other.pauses);
    }

    /// Takes out what was recorded.
    pub fn take(&mut self) -> Recorded {
        Recorded {
            trace: std::mem::take(&mut self.tracer.records.entries),
            pauses: std::mem::take(&mut self.pauses.entries),
            capture: std::mem::take(&mut self.capture.records.entries),
        }
    }
}
