//! A link that one sender shares with others who don't react, in steps of a microsecond.

use std::collections::VecDeque;
use std::sync::Arc;

use fairlane_congestion::{Ack, CongestionControl, Telemetry, Window};
use fairlane_units::{Bytes, Duration, Time};

use super::{ENVIRONMENT, exact, hop, run_timers, telemetry, us};

/// A link of 100 Gb/s.
#[derive(Default)]
pub struct Link {
    pub sent: u64,
    pub queue: u64,
}

impl Link {
    /// Bytes per microsecond of the link.
    const CAPACITY: u64 = 12_500;

    /// One microsecond with so many bytes coming in.
    pub fn step(&mut self, bytes: u64) {
        let waiting = self.queue + bytes;
        let leaving = waiting.min(Self::CAPACITY);
        self.sent += leaving;
        self.queue = waiting - leaving;
    }
}

/// What was sent in one microsecond and comes back as one acknowledgement.
struct Batch {
    sent_at: Time,
    back_at: Time,
    position: u64,
    marked: bool,
    record: Telemetry,
}

/// A sender on the link.
pub struct Story<C> {
    pub control: C,
    pub link: Link,
    flying: VecDeque<Batch>,
    position: u64,
    acknowledged: u64,
    now_us: u64,
}

impl<C: CongestionControl> Story<C> {
    /// Marks are made above this queue length.
    const THRESHOLD: u64 = 300_000;

    pub fn new() -> Self {
        Self {
            control: C::new(Arc::default(), &ENVIRONMENT),
            link: Link::default(),
            flying: VecDeque::new(),
            position: 0,
            acknowledged: 0,
            now_us: 0,
        }
    }

    /// One microsecond in which others send so many bytes; returns what the sender sent.
    pub fn step(&mut self, others: u64) -> u64 {
        let now = us(self.now_us);
        while self
            .flying
            .front()
            .is_some_and(|batch| batch.back_at <= now)
        {
            let batch = self.flying.pop_front().expect("checked");
            self.hear(&batch);
        }
        run_timers(&mut self.control, now);
        let sent = self.allowed();
        self.position += sent;
        self.link.step(sent + others);
        let waits = Duration::from_ps(self.link.queue * 80);
        let at = (now + waits).as_ps();
        self.flying.push_back(Batch {
            sent_at: now,
            back_at: now + ENVIRONMENT.base_rtt + waits,
            position: self.position,
            marked: self.link.queue > Self::THRESHOLD,
            record: telemetry(&[hop(at, self.link.sent, self.link.queue as u32)]),
        });
        self.now_us += 1;
        sent
    }

    /// Bytes of the next microsecond under rate and window.
    fn allowed(&self) -> u64 {
        let paced = self.control.rate().bytes_in(Duration::from_us(1)).get();
        let in_flight = self.position - self.acknowledged;
        let beside = Window::new(C::WINDOW, ENVIRONMENT.bdp, ENVIRONMENT.line_rate);
        let beside = beside.limit(self.control.rate());
        let window = self.control.window().map_or(beside, |own| own.min(beside));
        paced.min(window.get().saturating_sub(in_flight))
    }

    fn hear(&mut self, batch: &Batch) {
        if batch.position == self.acknowledged {
            return;
        }
        self.acknowledged = batch.position;
        let ack = Ack {
            acknowledged: Bytes::new(batch.position),
            next_to_send: Bytes::new(self.position),
            congestion_notified: batch.marked,
            round_trip: Some(batch.back_at - batch.sent_at),
            endpoint_delay: None,
            hops: 1,
            telemetry: Some(exact(&batch.record)),
        };
        self.control.on_ack(us(self.now_us), &ack);
    }
}
