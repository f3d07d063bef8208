//! The largest of many numbers.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// The `count` largest values and their places, largest first, ties by lower place. Takes time
/// proportional to the number of values: nearly all are dismissed by one comparison.
pub(crate) fn best(values: &[f64], count: usize) -> Vec<(f64, usize)> {
    let room = 2 * count + 16;
    let mut kept: Vec<(f64, usize)> = Vec::with_capacity(room);
    let mut least = f64::NEG_INFINITY;
    for (place, &value) in values.iter().enumerate() {
        // A later place loses a tie with what is kept.
        if value > least || kept.len() < count {
            kept.push((value, place));
            if kept.len() == room {
                kept.select_nth_unstable_by(count - 1, order);
                kept.truncate(count);
                least = kept[count - 1].0;
            }
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(count);
    kept
}

fn order(a: &(f64, usize), b: &(f64, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::{best, order};

    proptest! {
        #[test]
        fn they_are_those_of_a_sort(
            values in proptest::collection::vec(0u8..40, 0..400), count in 1usize..30,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut sorted: Vec<(f64, usize)> =
                values.iter().enumerate().map(|(place, value)| (*value, place)).collect();
            sorted.sort_by(order);
            sorted.truncate(count);
            prop_assert_eq!(best(&values, count), sorted);
        }
    }
}
