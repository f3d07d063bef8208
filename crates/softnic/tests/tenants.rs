//! Tenants of a device: whose packets its link carries.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{End, Way, end, end_with, join, target, whole};
use fairlane_congestion::scope::Scope;
use fairlane_softnic::{
    Adjustment, Device, Error, QpNumber, QueuePairOptions, SendRequest, Sending, Settings, Status,
    Tenant, TenantId,
};
use fairlane_units::{Duration as Span, Rate};

mod common;

const HEAVY: TenantId = TenantId::new(0x8001);
const LIGHT: TenantId = TenantId::new(0x8002);
/// Eight packets.
const MESSAGE: usize = 32 << 10;
/// Requests of a queue pair that are under way: 42 ms of the link, longer than a thread waits for a processor.
const DEPTH: u64 = 32;

/// A device whose link is slower than loopback, with tenants of weight 3 and 1, and with a round trip longer than a thread
/// waits for a processor: shares are divided by round trips, and threads that wait aren't to look idle.
fn shared_link(scope: Scope) -> End {
    end_with(|settings| {
        settings.line_rate = Rate::from_mbps(200);
        settings.base_rtt = Span::from_ms(20);
        settings.scope = scope;
        settings.tenants = vec![Tenant::new(HEAVY, 3.0), Tenant::new(LIGHT, 1.0)];
    })
}

/// Queue pairs of a partition from one device to another.
fn connect(a: &End, b: &End, partition: TenantId, count: usize) -> Vec<QpNumber> {
    let pair = |end: &End| {
        let options = QueuePairOptions {
            partition,
            ..end.options()
        };
        end.device.create_queue_pair(&options).unwrap()
    };
    let connected = (0..count).map(|_| {
        let (own, other) = (pair(a), pair(b));
        join((a, own), (b, other), Way::default());
        own
    });
    connected.collect()
}

/// The part of the bytes of `heavy` and `light` queue pairs that the heavy ones get in a second, all of which always have
/// something to send over a device's link: their WRITEs, or what they READ from there.
fn part_of_heavy(scope: Scope, reads: bool, [heavy, light]: [usize; 2]) -> f64 {
    // They measure one after the other.
    static MEASURES: Mutex<()> = Mutex::new(());
    let _one = MEASURES.lock().unwrap_or_else(PoisonError::into_inner);
    let (link, other) = (shared_link(scope), end());
    let (a, b) = if reads {
        (&other, &link)
    } else {
        (&link, &other)
    };
    let (here, there) = (a.memory(MESSAGE), b.memory(MESSAGE));
    let pairs = [(HEAVY, heavy), (LIGHT, light)].map(|(key, count)| connect(a, b, key, count));
    let all: Vec<_> = pairs.iter().flatten().copied().collect();
    let request = if reads {
        SendRequest::read
    } else {
        SendRequest::write
    };
    let post = |pair: QpNumber| a.post(pair, &request(0, vec![whole(&here)], target(&there)));
    for _ in 0..DEPTH {
        all.iter().copied().for_each(post);
    }
    let start = Instant::now();
    let mut done = [0_u32; 2];
    while start.elapsed() < Duration::from_millis(1100) {
        let completion = a.wait();
        assert_eq!(completion.status, Status::Success);
        let of_heavy = pairs[0].contains(&completion.pair);
        // The first requests are posted one after the other.
        if start.elapsed() > Duration::from_millis(100) {
            done[usize::from(!of_heavy)] += 1;
        }
        post(completion.pair);
    }
    // A second of the link is 750 messages; what is missing is the machine's.
    let [heavy, light] = done.map(f64::from);
    assert!(heavy + light > 250.0, "the link has carried {done:?}");
    heavy / (heavy + light)
}

/// Asserts that tenants of weight 3 and 1 have their parts within 5 %.
#[track_caller]
fn assert_by_weight(reads: bool, pairs: [usize; 2]) {
    let part = part_of_heavy(Scope::Tenant, reads, pairs);
    assert!((part - 0.75).abs() < 0.05 * 0.25, "{part}");
}

#[test]
fn tenants_get_their_weights_part_of_the_link_by_one_queue_pair_each() {
    assert_by_weight(false, [1, 1]);
}

#[test]
fn tenants_get_their_weights_part_of_the_link_by_sixteen_queue_pairs_each() {
    assert_by_weight(false, [16, 16]);
}

#[test]
fn more_queue_pairs_are_no_larger_part() {
    assert_by_weight(false, [1, 16]);
}

#[test]
fn data_that_is_read_takes_its_tenants_part_of_the_link() {
    assert_by_weight(true, [1, 1]);
    assert_by_weight(true, [1, 16]);
}

#[test]
fn without_the_scope_queue_pairs_count() {
    let part = part_of_heavy(Scope::Qp, false, [1, 3]);
    assert!((part - 0.25).abs() < 0.05, "{part}");
}

#[test]
fn a_queue_pair_stays_with_its_tenant() {
    let (a, b) = (shared_link(Scope::Tenant), end());
    let pair = connect(&a, &b, LIGHT, 1)[0];
    let adjust = |partition| {
        let to = Adjustment {
            partition: Some(partition),
            ..Adjustment::default()
        };
        a.device.adjust(pair, &to)
    };
    assert!(matches!(
        adjust(HEAVY),
        Err(Error::Invalid("partition key", _))
    ));
    // A limited member of the same partition.
    adjust(TenantId::new(2)).unwrap();
}

/// Whether a WRITE arrives between queue pairs of two partition keys.
fn arrives([one, other]: [u32; 2]) -> bool {
    let (a, b) = (end(), end());
    let pair = |end: &End, key| {
        let partition = TenantId::new(key);
        let options = QueuePairOptions {
            partition,
            ..end.options()
        };
        end.device.create_queue_pair(&options).unwrap()
    };
    let (own, peer) = (pair(&a, one), pair(&b, other));
    let way = Way {
        sending: Sending {
            timeout: Some(Span::from_ms(4)),
            retries: 1,
            ..Sending::default()
        },
        ..Way::default()
    };
    join((&a, own), (&b, peer), way);
    let (from, to) = (a.memory(8), b.memory(8));
    let request = SendRequest::write(1, vec![whole(&from)], target(&to));
    a.post(own, &request);
    a.wait().status == Status::Success
}

#[test]
fn members_of_a_partition_reach_each_other_but_limited_ones() {
    assert!(arrives([0x8001, 0x8001]) && arrives([0x8001, 1]) && arrives([1, 0x8001]));
    assert!(!arrives([1, 1]) && !arrives([0x8001, 0x8002]) && !arrives([0x8000, 0x8000]));
}

#[test]
fn lists_that_say_nothing_are_refused() {
    let refused = |tenants: &[Tenant]| {
        let mut settings = Settings::new(common::address());
        settings.tenants = tenants.to_vec();
        let error = Device::open(settings).unwrap_err();
        assert!(matches!(error, Error::Invalid(..)), "{error}");
    };
    refused(&[Tenant::new(HEAVY, 0.0)]);
    refused(&[Tenant::new(HEAVY, f64::NAN)]);
    refused(&[Tenant::new(HEAVY, f64::INFINITY)]);
    refused(&[Tenant::new(TenantId::new(0x8000), 1.0)]);
    refused(&[Tenant::new(TenantId::new(0x1_0001), 1.0)]);
    refused(&[Tenant::new(HEAVY, 1.0), Tenant::new(TenantId::new(1), 2.0)]);
}
