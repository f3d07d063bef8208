//! Max-min fairness: water fills basins.

/// One that gets a part of the water.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basin {
    /// The level at which it is full: its demand over its weight; infinite if it is never.
    pub(crate) depth: f64,
    /// Water for each unit of level, above zero.
    pub(crate) weight: f64,
}

/// The level to which `water` fills the basins: the weight times the level, at most the depth, of each add up to
/// the water. What is left over when all are full stands above all of them alike, so that
/// whoever deepens its basin finds water there at once. Zero without basins. It reorders the basins and takes time in proportion to
/// their number.
pub(crate) fn level(basins: &mut [Basin], water: f64) -> f64 {
    let (mut open, mut left, mut deepest) = (basins, water.max(0.0), 0.0_f64);
    // Weights of those that are known to stay open, and of those known to be full.
    let (mut above, mut full) = (0.0, 0.0);
    while !open.is_empty() {
        let middle = open.len() / 2;
        let (low, pivot, high) =
            open.select_nth_unstable_by(middle, |a, b| a.depth.total_cmp(&b.depth));
        let weigh = |all: &[Basin]| all.iter().map(|one| one.weight).sum::<f64>();
        let below: f64 = low.iter().map(|one| one.weight * one.depth).sum();
        let rest = pivot.weight + weigh(high) + above;
        if below + rest * pivot.depth <= left {
            left -= below + pivot.weight * pivot.depth;
            full += weigh(low) + pivot.weight;
            deepest = pivot.depth;
            open = high;
        } else {
            above = rest;
            open = low;
        }
    }
    match (above > 0.0, full > 0.0) {
        (true, _) => (left / above).max(deepest),
        (false, true) => deepest + left.max(0.0) / full,
        (false, false) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn filled(basins: &[(f64, f64)], water: f64) -> f64 {
        let basin = |&(depth, weight): &(f64, f64)| Basin { depth, weight };
        let mut basins: Vec<Basin> = basins.iter().map(basin).collect();
        level(&mut basins, water)
    }

    #[test]
    fn open_basins_divide_what_full_ones_leave() {
        let open = f64::INFINITY;
        assert_eq!(filled(&[(open, 1.0), (open, 1.0)], 10.0), 5.0);
        assert_eq!(filled(&[(2.0, 1.0), (open, 1.0), (open, 1.0)], 10.0), 4.0);
        assert_eq!(filled(&[(open, 1.0), (open, 3.0)], 10.0), 2.5);
        assert_eq!(filled(&[(1.0, 4.0), (open, 1.0)], 10.0), 6.0);
    }

    #[test]
    fn what_nobody_wants_stands_above_all() {
        assert_eq!(filled(&[(1.0, 1.0), (3.0, 1.0)], 10.0), 6.0);
        assert_eq!(filled(&[(1.0, 1.0), (2.0, 3.0)], 15.0), 4.0);
        assert_eq!(filled(&[], 10.0), 0.0);
    }
}
