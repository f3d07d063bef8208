//! Slowdown by message size of several runs.

use fairlane_fabric::metrics::{carried, least_for, size_edges};

use crate::read::Overlay;
use fairlane_results::report::study::Values;

/// The percentile that is drawn.
const TAIL: f64 = 0.99;
/// Most classes of size.
const CLASSES: usize = 20;

/// The largest size of each class. Runs that each have classes of their own can't be put together class by class, so
/// these are of the messages of all runs; a class has as many as `groups` alike need for the percentile.
pub(super) fn edges(overlays: &[Overlay], groups: usize) -> Vec<u64> {
    let sizes = overlays.iter().flat_map(|run| &run.size_bytes).copied();
    size_edges(sizes.collect(), CLASSES, groups * least_for(TAIL))
}

/// The percentile of each class over the messages of some runs together, with the least and the greatest of single
/// runs. Classes and runs with too few messages are left out.
pub(super) fn curve(edges: &[u64], runs: &[&Overlay]) -> Values {
    let each: Vec<Vec<Vec<f64>>> = runs.iter().map(|run| by_class(edges, run)).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (class, edge) in edges.iter().enumerate() {
        let pool = each.iter().flat_map(|run| &run[class]).copied();
        let Some(tail) = tail(pool.collect()) else {
            continue;
        };
        let single: Vec<f64> = each
            .iter()
            .filter_map(|run| self::tail(run[class].clone()))
            .collect();
        let band = || single.iter().copied().filter(|_| single.len() > 1);
        x.push(*edge as f64);
        y.push(tail);
        low.push(band().reduce(f64::min));
        high.push(band().reduce(f64::max));
    }
    Values::Curve { x, y, low, high }
}

/// Slowdowns of a run by class.
fn by_class(edges: &[u64], run: &Overlay) -> Vec<Vec<f64>> {
    let mut classes = vec![Vec::new(); edges.len()];
    for (size, slowdown) in run.size_bytes.iter().zip(&run.slowdown) {
        let class = edges.partition_point(|edge| edge < size);
        if let Some(class) = classes.get_mut(class) {
            class.push(*slowdown);
        }
    }
    classes
}

fn tail(mut slowdowns: Vec<f64>) -> Option<f64> {
    slowdowns.sort_unstable_by(f64::total_cmp);
    carried(&slowdowns, TAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with the given number of messages of each size, all of one slowdown.
    fn run(sizes: &[(u64, usize)], slowdown: f64) -> Overlay {
        let each = |&(size, count): &(u64, usize)| std::iter::repeat_n(size, count);
        let size_bytes: Vec<u64> = sizes.iter().flat_map(each).collect();
        Overlay {
            slowdown: vec![slowdown; size_bytes.len()],
            size_bytes,
            ..Overlay::default()
        }
    }

    #[test]
    fn messages_of_runs_are_put_together_by_size_and_not_by_number_of_a_class() {
        // The second run has no small messages: its first class of its own would be the large ones.
        let all = [
            run(&[(1000, 100), (9000, 100)], 2.0),
            run(&[(9000, 150)], 4.0),
            run(&[(1000, 60), (9000, 60)], 3.0),
        ];
        let edges = edges(&all, 1);
        assert_eq!(edges, [1000, 9000]);
        let of = |runs: &[&Overlay]| match curve(&edges, runs) {
            Values::Curve { x, y, low, high } => (x, y, low, high),
            Values::Distribution { .. } => panic!("expected a curve"),
        };
        let (x, y, low, high) = of(&[&all[0], &all[1]]);
        assert_eq!((x, y), (vec![1000.0, 9000.0], vec![2.0, 4.0]));
        assert_eq!((low, high), (vec![None, Some(2.0)], vec![None, Some(4.0)]));
        // 60 messages carry no 99th percentile, 160 of two runs do.
        assert_eq!(of(&[&all[2]]).0, [0.0; 0]);
        let (x, y, low, _) = of(&[&all[0], &all[2]]);
        assert_eq!((x, y), (vec![1000.0, 9000.0], vec![3.0, 3.0]));
        assert_eq!(low, [None, None]);
    }

    #[test]
    fn classes_are_large_enough_for_every_group() {
        let all = [
            run(&[(1, 150), (2, 150)], 1.0),
            run(&[(1, 150), (2, 150)], 1.0),
        ];
        assert_eq!(edges(&all, 2), [1, 2]);
        assert_eq!(edges(&all, 4), [2]);
        assert!(edges(&[], 1).is_empty());
    }
}
