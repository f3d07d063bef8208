//! Queue pairs whose parameters are known later than they receive.

use alloc::sync::Arc;

use fairlane_transport::{Config, Requester};
use fairlane_units::Psn;

use crate::nic::Nic;
use crate::packet::PairId;

/// Gives a queue pair that has sent nothing the number of its first packet and the parameters of its requests, as
/// the way from RTR to RTS does (IBTA 10.3.1). Parameters of its responder must be those that it was
/// [opened](Nic::open_at) with.
pub fn begin_sending(nic: &mut Nic, id: PairId, initial: Psn, config: Arc<Config>) {
    let pair = &mut nic.pairs[id.index()];
    debug_assert!(pair.requester.is_idle(), "it has sent nothing");
    pair.requester = Requester::new(&config, initial);
    pair.config = config;
}

/// Gives a queue pair other parameters while it works: those that answers are made by, as the time to wait of an RNR NAK.
pub fn set_parameters(nic: &mut Nic, id: PairId, config: Arc<Config>) {
    nic.pairs[id.index()].config = config;
}
