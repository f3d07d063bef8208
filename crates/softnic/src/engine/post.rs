//! Requests that are posted, and their ends.

use std::net::IpAddr;

use fairlane_transport::{
    Operation as Asked, PostError, ReceiveCompletion, Remote, State, Status, WorkRequest,
};
use fairlane_units::{Bytes, QpNumber, Time};

use super::arrive::GLOBAL_HEADER;
use super::modify::check_version;
use super::{Engine, figures};
use crate::completion::{Completion, CompletionQueue, Done};
use crate::error::Error;
use crate::faults::Faults;
use crate::number;
use crate::queue_pair::QueuePair;
use crate::receives::{Posted, SharedQueue};
use crate::report::WorkReport;
use crate::rights::Rights;
use crate::work::{Operation, PartId, READ_PART, ReceiveRequest, SendRequest, Work};

impl Engine {
    /// Posts all requests, or none of them.
    pub(crate) fn post_all(
        &mut self,
        number: QpNumber,
        requests: impl AsRef<[SendRequest]> + IntoIterator<Item = SendRequest>,
        now: Time,
    ) -> Result<(), Error> {
        let slot = self.slot(number)?;
        let pair = self.pairs.get_mut(slot);
        let pair = pair.ok_or(Error::Unknown("queue pair"))?;
        let count = requests.as_ref().len();
        for request in requests.as_ref() {
            check(pair, request, self.settings.address)?;
        }
        let room = pair.options.most_requests.saturating_sub(pair.outstanding);
        if count > self.works.room().min(room as usize) {
            return Err(Error::Post(PostError::Full));
        }
        for request in requests {
            let fault = (self.faults.as_deref()).and_then(|faults| next_fault(faults, pair));
            self.counters.injected_faults += u64::from(fault.is_some());
            let work = Work {
                request,
                pair: slot,
                posted: self.clock,
                handed: 0,
                parts: 0,
                failed: None,
                fault,
            };
            let work = self.works.insert(|_| work).ok_or(PostError::Full)?;
            pair.outstanding += 1;
            pair.waiting.push_back(work);
        }
        self.hand(slot, now);
        self.hear_events(now, None);
        self.follow(slot, now);
        Ok(())
    }

    /// Hands what waits to the NIC: READs in parts, of which some are under way at a time.
    pub(super) fn hand(&mut self, slot: u32, now: Time) {
        let begins = |own: &Self| {
            let pair = own.pairs.get(slot);
            pair.is_some_and(|pair| pair.may_begin(&own.works))
        };
        while begins(self) && self.carry_out(slot, now) && self.permits_response(slot, now) {
            let Some(pair) = self.pairs.get_mut(slot) else {
                return;
            };
            let (Some(&number), Some(id)) = (pair.waiting.front(), pair.id) else {
                return;
            };
            let Some(work) = self.works.get_mut(number) else {
                return;
            };
            let reads = matches!(work.request.operation, Operation::Read(_));
            // What is asked for has room at this end, but that every queue pair may ask for a part.
            let crowded = self.reads * READ_PART >= self.window.limit && pair.reads > 0;
            let most = u32::from(pair.config.max_reads).clamp(1, PARTS);
            if reads && (crowded || pair.reads >= most) {
                return;
            }
            let part = PartId {
                work: number,
                part: work.parts_handed(),
            };
            let (fails, reliable) = (work.fault.is_some(), pair.config.service.is_reliable());
            if fails && !reliable && pair.outstanding as usize > pair.waiting.len() {
                // Those before it leave first; a connection waits for their end itself.
                return;
            }
            let Some((mut request, last)) = work.next(part) else {
                return;
            };
            work.parts += 1;
            pair.reads += u32::from(reads);
            self.reads += u64::from(reads);
            if last {
                pair.waiting.pop_front();
            }
            if let Operation::Datagram { address, .. } = work.request.operation {
                pair.addresses.push_back(address);
            }
            if let Asked::Datagram { queue_key, .. } = &mut request.operation {
                *queue_key = pair.datagram_key(*queue_key);
            }
            self.nic.post(now, id, request);
            if fails {
                // Nothing behind it on a connection is handed over, which fails once those before it have ended.
                pair.fails = reliable;
                self.nic.on_local_error(now, id, part.to_nic());
                self.hear_events(now, None);
                return;
            }
        }
    }

    /// Whether the memory that the response to a queue pair's next request is for permits it. If not, the request fails
    /// when those before it have ended, and the queue pair with it.
    fn permits_response(&mut self, slot: u32, now: Time) -> bool {
        let Some(pair) = self.pairs.get_mut(slot) else {
            return false;
        };
        let (Some(&number), Some(id)) = (pair.waiting.front(), pair.id) else {
            return false;
        };
        let Some(work) = self.works.get_mut(number) else {
            return false;
        };
        let asked = work.request.operation.asked();
        let awaits = asked.is_some_and(|asked| asked.awaits_response());
        let domain = pair.options.domain;
        if !awaits
            || self
                .keys
                .permit(domain, Rights::LOCAL_WRITE, &work.request.pieces)
        {
            return true;
        }
        let first = pair.outstanding as usize == pair.waiting.len();
        if first && work.parts == 0 && !self.nic.pair(id).has_failed() {
            work.failed = Some(Status::LocalProtection);
            pair.waiting.pop_front();
            self.end(slot, number, Status::LocalProtection);
            self.nic.fail(now, id);
        }
        false
    }

    /// A part of a work has ended.
    pub(super) fn on_completed(&mut self, slot: u32, id: u64, status: Status) {
        let number = PartId::from_nic(id).work;
        let (Some(pair), Some(work)) = (self.pairs.get_mut(slot), self.works.get_mut(number))
        else {
            return;
        };
        let status = match status {
            Status::LocalProtection => work.fault.unwrap_or(status),
            _ => status,
        };
        for counters in [&mut self.counters, &mut pair.counters] {
            counters.retry_exceeded_err += u64::from(status == Status::RetryExceeded);
            counters.retry_rnr_exceeded_err += u64::from(status == Status::RnrRetryExceeded);
        }
        work.parts -= 1;
        if matches!(work.request.operation, Operation::Read(_)) {
            pair.reads -= 1;
            self.reads -= 1;
        }
        if status != Status::Success {
            work.failed = work.failed.or(Some(status));
            // What hasn't been handed over never will be. Only the first one that waits can be handed over in part.
            pair.waiting.pop_front_if(|waiting| *waiting == number);
        }
        let handed = pair.waiting.front() != Some(&number);
        if work.parts == 0 && handed {
            self.end(slot, number, Status::Success);
        }
    }

    /// A work has ended, by itself or as it was said.
    pub(super) fn end(&mut self, slot: u32, number: u32, otherwise: Status) {
        let Some(work) = self.works.remove(number) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        pair.outstanding -= 1;
        let status = work.failed.unwrap_or(otherwise);
        let done = match work.request.operation {
            Operation::Write(_) | Operation::WriteImmediate(..) => Done::Write,
            Operation::Read(_) => Done::Read,
            Operation::FetchAdd(..) => Done::FetchAdd,
            Operation::CompareSwap(..) => Done::CompareSwap,
            Operation::Bind(_) => Done::Bind,
            Operation::Invalidate(_) => Done::Invalidate,
            _ => Done::Send,
        };
        for counters in [&mut self.counters, &mut pair.counters] {
            counters.rdma_sends += u64::from(done == Done::Send);
        }
        if let Some(reports) = &mut self.reports
            && let Some(destination) = pair.destination(&work.request.operation)
            && WorkReport::tells_of(done)
        {
            let again = pair.counters.completer_retry_err;
            let report = WorkReport {
                done,
                end: status.into(),
                size: Bytes::new(work.request.length()),
                posted: work.posted,
                ended: self.clock.max(work.posted),
                mtu: pair.config.mtu.get() as u16,
                is_reliable: pair.config.service.is_reliable(),
                retransmitted: (again - pair.reported) as u32,
            };
            pair.reported = again;
            reports.push((destination, report));
        }
        if !work.request.signaled && status == Status::Success {
            return;
        }
        let queue = pair.options.send_queue;
        let completion = Completion {
            length: match done {
                Done::Send | Done::Write | Done::Bind | Done::Invalidate => 0,
                _ => work.request.length(),
            },
            ..blank(work.request.id, status, done, pair.number)
        };
        self.complete(queue, completion);
    }

    pub(super) fn complete(&mut self, queue: CompletionQueue, completion: Completion) {
        let Some(own) = self.completions.get_mut(queue.0) else {
            return;
        };
        let pushed = own.push(completion);
        let (fires, channel) = (own.fires(&completion), own.channel);
        self.completed = true;
        if fires {
            self.channels.tell(queue, channel);
        }
        if !pushed {
            self.on_overrun(queue);
        }
    }

    pub(crate) fn post_receive(
        &mut self,
        number: QpNumber,
        request: ReceiveRequest,
    ) -> Result<(), Error> {
        let pair = self.pair(number)?;
        if pair.options.shared.is_some() {
            let expected = "a queue pair with a queue of its own";
            return Err(Error::Invalid("receive", expected));
        }
        if !pair.state.takes_receives() {
            return Err(Error::Post(PostError::State));
        }
        let (receives, failed) = (pair.receives, pair.state == State::Error);
        let slot = self.slot(number)?;
        let own = self.receives.get_mut(receives);
        own.ok_or(Error::Unknown("queue of receives"))?
            .post(request)?;
        if failed {
            self.flush_receives(slot);
        }
        Ok(())
    }

    pub(crate) fn post_shared(
        &mut self,
        queue: SharedQueue,
        request: ReceiveRequest,
    ) -> Result<(), Error> {
        self.shared(queue)?.post(request)
    }

    /// A receive has ended.
    pub(super) fn on_received(
        &mut self,
        slot: u32,
        ended: &ReceiveCompletion,
        from: Option<IpAddr>,
    ) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let Some(queue) = self.receives.get_mut(pair.receives) else {
            return;
        };
        let Some(posted) = queue.end(ended.id) else {
            return;
        };
        let datagram = pair.is_datagram();
        let header = if datagram { GLOBAL_HEADER as u64 } else { 0 };
        let source = ended.source.filter(|_| datagram);
        let completion = Completion {
            done: match ended.written {
                true => Done::ReceiveWrite,
                false => Done::Receive,
            },
            length: ended.length.get() + header,
            immediate: ended.immediate,
            invalidated: ended.invalidated,
            solicited: ended.solicited,
            source: from.zip(source),
            ..received(&posted, ended.status, pair)
        };
        let queue = pair.options.receive_queue;
        let came = u64::from(completion.status == Status::Success);
        figures::count_at(self, slot, |counters| counters.rdma_recvs += came);
        self.complete(queue, completion);
    }

    /// Ends receives of a queue pair's own queue that nothing has come for.
    pub(super) fn flush_receives(&mut self, slot: u32) {
        loop {
            let Some(pair) = self.pairs.get(slot) else {
                return;
            };
            let own = self.receives.get_mut(pair.receives);
            let Some(posted) = own.filter(|own| !own.shared).and_then(|own| own.flush()) else {
                return;
            };
            let completion = received(&posted, Status::Flushed, pair);
            let queue = pair.options.receive_queue;
            self.complete(queue, completion);
        }
    }
}

/// Parts of READs of a queue pair that are under way at most.
const PARTS: u32 = 8;

impl Work {
    fn parts_handed(&self) -> u32 {
        u32::try_from(self.handed / READ_PART).unwrap_or(u32::MAX)
    }

    /// What is handed to the NIC next, and whether it is the rest.
    fn next(&mut self, part: PartId) -> Option<(WorkRequest, bool)> {
        let request = &self.request;
        let rest = request.length() - self.handed;
        let (length, operation) = match request.operation {
            Operation::Read(target) => {
                let remote = Remote::from(target).behind(Bytes::new(self.handed));
                (rest.min(READ_PART), Asked::Read(remote))
            }
            other => (rest, other.asked()?),
        };
        let handed = WorkRequest {
            id: part.to_nic(),
            operation,
            length: Bytes::new(length),
            // Whether the application hears of it is decided here; the NIC must say when it has ended.
            signaled: true,
            // Parts behind the first one needn't wait for it.
            fence: request.fence && self.handed == 0,
            solicited: request.solicited,
        };
        self.handed += length;
        Some((handed, length == rest))
    }
}

fn received(posted: &Posted, status: Status, pair: &QueuePair) -> Completion {
    let status = posted.failed.unwrap_or(status);
    blank(posted.request.id, status, Done::Receive, pair.number)
}

const fn blank(id: u64, status: Status, done: Done, pair: QpNumber) -> Completion {
    Completion {
        id,
        status,
        done,
        pair,
        length: 0,
        immediate: None,
        invalidated: None,
        solicited: false,
        source: None,
    }
}

/// How the next request of a queue pair fails on purpose, if it does. Who establishes connections must come through.
fn next_fault(faults: &Faults, pair: &mut QueuePair) -> Option<Status> {
    if pair.number == number::MANAGEMENT {
        return None;
    }
    pair.posted += 1;
    faults.of_request(pair.posted, pair.config.service.is_reliable())
}

/// Refuses what state, service and size don't allow.
fn check(pair: &QueuePair, request: &SendRequest, own: IpAddr) -> Result<(), Error> {
    if !pair.state.takes_requests() {
        return Err(Error::Post(PostError::State));
    }
    if request.pieces.len() > pair.options.most_pieces as usize {
        return Err(Error::Invalid(
            "request",
            "no more pieces than the queue pair was made for",
        ));
    }
    let Some(operation) = request.operation.asked() else {
        return match pair.is_datagram() {
            true => Err(Error::Post(PostError::Operation)),
            false => Ok(()),
        };
    };
    if let Some(inline) = &request.inline {
        if inline.len() > pair.options.most_inline as usize {
            return Err(Error::Invalid(
                "inline data",
                "no more than the queue pair was made for",
            ));
        }
        if operation.awaits_response() || !request.pieces.is_empty() {
            return Err(Error::Invalid(
                "inline data",
                "a request that sends it, without pieces",
            ));
        }
    }
    let asked = WorkRequest::new(request.id, operation, Bytes::new(request.length()));
    asked.check(&pair.config)?;
    match request.operation {
        Operation::Datagram { address, .. } => check_version(address, own),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Sge, Target};

    #[test]
    fn the_first_part_of_a_fenced_read_has_the_fence() {
        let piece = Sge {
            address: 0,
            length: 3 * READ_PART as u32,
            key: 1,
        };
        let target = Target { address: 0, key: 2 };
        let mut request = SendRequest::read(1, vec![piece], target);
        request.fence = true;
        let mut work = Work {
            request,
            pair: 0,
            posted: Time::ZERO,
            handed: 0,
            parts: 0,
            failed: None,
            fault: None,
        };
        let parts = [0, 1, 2].map(|part| work.next(PartId { work: 0, part }).unwrap());
        let fences = parts.map(|(part, last)| (part.fence, last));
        assert_eq!(fences, [(true, false), (false, false), (false, true)]);
    }
}
