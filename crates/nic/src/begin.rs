//! RTR to RTS, and what else becomes known of a queue pair after it has been opened.

use alloc::sync::Arc;

use fairlane_transport::{Config, Requester};
use fairlane_units::{Psn, Time};

use crate::nic::Nic;
use crate::packet::{Extensions, PairId};

impl Nic {
    /// Gives a queue pair that has sent nothing the number of its first packet and the parameters of its requests, as
    /// the way from RTR to RTS does (IBTA 10.3.1). Parameters of its responder must be those that it was
    /// [opened](Self::open_at) with.
    pub fn begin_sending(&mut self, id: PairId, initial: Psn, config: Arc<Config>) {
        let pair = &mut self.pairs[id.index()];
        debug_assert!(pair.requester.is_idle(), "it has sent nothing");
        pair.requester = Requester::new(&config, initial);
        pair.config = config;
    }

    /// What both ends of a queue pair use beside plain RoCEv2 changes.
    pub fn set_extensions(&mut self, now: Time, id: PairId, extensions: Extensions) {
        let pair = &mut self.pairs[id.index()];
        pair.opening.extensions = extensions;
        if !extensions.read_feedback
            && let Some(reading) = &mut pair.reading
        {
            // Nobody will say any more that it has arrived.
            reading.settle();
        }
        let port = &mut self.ports[usize::from(pair.port)];
        port.with_apportion(|own, port| own.on_extensions(now, id, port, &self.pairs));
        self.refresh(now, id);
    }

    /// Gives a queue pair other parameters while it works: those that answers are made by, as the time to wait of an RNR NAK.
    pub fn set_parameters(&mut self, id: PairId, config: Arc<Config>) {
        self.pairs[id.index()].config = config;
    }
}
