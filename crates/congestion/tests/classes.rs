//! Strict classes and classes with weights on one link.

use fairlane_congestion::{CLASSES, ClassScheduler, Selection};
use fairlane_units::Bytes;
use proptest::prelude::*;

const LARGEST: u64 = 1500;

fn scheduler(selections: &[(u8, Selection)]) -> ClassScheduler {
    ClassScheduler::new(selections, Bytes::new(LARGEST))
}

/// Bytes by class of `count` packets, of which those of a class have the size `sizes` gives.
fn sent(
    scheduler: &mut ClassScheduler,
    ready: u8,
    count: usize,
    sizes: [u64; CLASSES],
) -> [u64; CLASSES] {
    let mut bytes = [0; CLASSES];
    for _ in 0..count {
        let class = scheduler.choose(ready).expect("a class is ready");
        assert_ne!(ready & 1 << class, 0, "class {class} has nothing to send");
        let size = sizes[usize::from(class)];
        scheduler.on_sent(class, Bytes::new(size));
        bytes[usize::from(class)] += size;
    }
    bytes
}

#[test]
fn strict_classes_go_first_by_descending_number() {
    let mut all = scheduler(&[(2, Selection::Strict), (6, Selection::Strict)]);
    let order = [0b0111_1110, 0b0011_1110, 0b0011_1010].map(|ready| all.choose(ready));
    assert_eq!(order[..2], [Some(6), Some(2)]);
    assert!(matches!(order[2], Some(1 | 3 | 4 | 5)));
    assert_eq!(all.choose(0), None);
}

/// In each turn class 3 sends three packets and class 4 one.
#[test]
fn three_to_one_is_three_packets_to_one() {
    let mut all = scheduler(&[(3, Selection::Weight(75)), (4, Selection::Weight(25))]);
    let next = |_| {
        let class = all.choose(0b0001_1000).unwrap();
        all.on_sent(class, Bytes::new(LARGEST));
        class
    };
    let order: Vec<u8> = (0..8).map(next).collect();
    assert_eq!(order, [3, 3, 3, 4, 3, 3, 3, 4]);
}

/// Packets of a fifth of the size: as many bytes, five times the packets.
#[test]
fn shares_are_of_bytes_not_of_packets() {
    let mut all = scheduler(&[]);
    let mut sizes = [LARGEST; CLASSES];
    sizes[5] = LARGEST / 5;
    let bytes = sent(&mut all, 0b0011_0000, 6000, sizes);
    assert_eq!(bytes[4], 1000 * LARGEST);
    assert_eq!(bytes[5], 5000 * (LARGEST / 5));
}

#[test]
fn a_class_that_has_nothing_to_send_leaves_its_share_and_saves_none() {
    let mut all = scheduler(&[(3, Selection::Weight(3)), (4, Selection::Weight(1))]);
    let alone = sent(&mut all, 1 << 4, 1000, [LARGEST; CLASSES]);
    assert_eq!(alone[4], 1000 * LARGEST);
    // Back again, class 3 has three packets a turn, not those of the turns that it missed.
    let both = sent(&mut all, 0b0001_1000, 8, [LARGEST; CLASSES]);
    assert!(both[4] >= LARGEST, "{both:?}");
    assert!(both[3] <= 7 * LARGEST, "{both:?}");
}

proptest! {
    /// While classes always have packets, what one has sent per weight never differs from another's by more than a turn: its
    /// quantum and a packet (Shreedhar and Varghese, theorem 2, for the surplus form).
    #[test]
    fn shares_differ_by_a_turn_at_most(
        weights in prop::array::uniform8(1u32..100),
        ready in 1u8..,
        sizes in prop::collection::vec(1u64..=LARGEST, 1..400),
    ) {
        let listed: Vec<_> = (0..).zip(weights.map(Selection::Weight)).collect();
        let mut all = scheduler(&listed);
        let mut bytes = [0u64; CLASSES];
        for size in sizes {
            let class = all.choose(ready).unwrap();
            prop_assert_ne!(ready & 1 << class, 0);
            all.on_sent(class, Bytes::new(size));
            bytes[usize::from(class)] += size;
        }
        let least = u64::from(*weights.iter().min().unwrap());
        let unit = LARGEST.div_ceil(least) as f64;
        let turns: Vec<(f64, f64)> = (0..CLASSES)
            .filter(|class| ready & 1 << class != 0)
            .map(|class| {
                let quantum = f64::from(weights[class]) * unit;
                (bytes[class] as f64 / quantum, LARGEST as f64 / quantum)
            })
            .collect();
        for &(one, packet) in &turns {
            for &(other, its) in &turns {
                prop_assert!((one - other).abs() <= 1.0 + packet.max(its), "{turns:?}");
            }
        }
    }
}
