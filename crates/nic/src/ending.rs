//! Queue pairs that fail, or stop for a while.

use fairlane_transport::{ReceiveCompletion, Requester, Status};
use fairlane_units::{FlowId, Time};
use fairlane_wire::NakCode;

use crate::nic::Nic;
use crate::packet::{Event, PairId};

impl Nic {
    /// Ends all that a queue pair has begun, as state ERR does (IBTA 10.3.1): work requests complete as flushed,
    /// nothing is sent or heard any more.
    pub fn fail(&mut self, now: Time, id: PairId) {
        self.pairs[id.index()].requester.flush();
        self.end_responder(id);
        self.complete(id);
        self.refresh(now, id);
    }

    /// Ends a work request of which a packet has just been polled, because its data can't be read; that packet must
    /// not be sent. A reliable connection fails when the work requests before it have ended, of an unreliable queue
    /// pair the sending side alone.
    pub fn on_local_error(&mut self, now: Time, id: PairId, request: u64) {
        let pair = &mut self.pairs[id.index()];
        let (requester, status) = (&mut pair.requester, Status::LocalProtection);
        if !requester.fail_request(&pair.config, request, status) {
            requester.flush();
            let flow = pair.opening.flow;
            self.correct(id, flow, request, status);
        }
        self.complete(id);
        self.refresh(now, id);
    }

    /// A work request has ended otherwise than was told, if it was, by the latest event.
    #[cold]
    fn correct(&mut self, pair: PairId, flow: FlowId, id: u64, status: Status) {
        let latest = self.events.back();
        let told = latest.is_some_and(|event| match event {
            Event::Completed {
                pair: of, id: what, ..
            } => (*of, *what) == (pair, id),
            Event::Received { .. } => false,
        });
        if told {
            self.events.pop_back();
        }
        self.events.push_back(Event::Completed {
            pair,
            flow,
            id,
            status,
        });
    }

    /// Begins no work request of a queue pair that hasn't begun yet, as state SQD does.
    pub fn drain(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        pair.requester.drain(&pair.config);
        self.refresh(now, id);
    }

    /// Ends [`drain`](Self::drain), or that the sending side of an unreliable queue pair has failed (SQE).
    pub fn resume(&mut self, now: Time, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        let (config, requester) = (&pair.config, &mut pair.requester);
        if requester.has_failed() && !config.service.is_reliable() {
            *requester = Requester::new(config, requester.next_psn());
        } else {
            requester.resume(config);
        }
        self.refresh(now, id);
    }

    /// Ends a responder, unless it has failed: then it still says why.
    #[cold]
    pub(crate) fn end_responder(&mut self, id: PairId) {
        let responder = &mut self.pairs[id.index()].responder;
        if !responder.has_failed()
            && let Some(ended) = responder.flush()
        {
            self.note_received(id, 0, Some(ended));
        }
    }

    /// A receive has ended, perhaps with messages, or the responder has failed.
    #[inline(never)]
    pub(crate) fn on_end(
        &mut self,
        now: Time,
        id: PairId,
        messages: u32,
        completion: Option<ReceiveCompletion>,
        fault: Option<NakCode>,
    ) {
        if messages > 0 || completion.is_some() {
            self.note_received(id, messages, completion);
        }
        if fault.is_some() {
            self.pairs[id.index()].requester.flush();
            self.complete(id);
            self.refresh(now, id);
        }
    }
}
