//! Better epochs for a frame: those that are worth least make room for those of the best mixture.

use alloc::vec::Vec;

use super::case::Case;
use super::frame::{Epoch, Frame};
use super::hull::Hull;

/// Epochs that are tried at a time: the best to come, and the worst to go.
const TRIED: usize = 4;
/// Rounds of exchanges, each of which ends with the best rates.
const ROUNDS: usize = 8;
/// Passes for rates after a round, and what one gains at least.
const PASSES: usize = 30;
const GAIN: f64 = 1e-7;

/// The epochs of a mixture in a frame, each as often as comes closest to its part.
pub(super) fn rounded(case: &Case, hull: &Hull, epochs: usize) -> Frame {
    let exact: Vec<f64> = hull
        .frame
        .epochs
        .iter()
        .map(|epoch| epoch.part * epochs as f64)
        .collect();
    let mut counts: Vec<usize> = exact
        .iter()
        .map(|exact| libm::floor(*exact) as usize)
        .collect();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    let rest = |at: &usize| exact[*at] - libm::floor(exact[*at]);
    order.sort_by(|a, b| rest(b).total_cmp(&rest(a)).then(a.cmp(b)));
    let missing = epochs.saturating_sub(counts.iter().sum());
    order
        .iter()
        .cycle()
        .take(missing)
        .for_each(|at| counts[*at] += 1);
    let copies = hull.frame.epochs.iter().zip(counts);
    let copies = copies.flat_map(|(epoch, count)| core::iter::repeat_n(epoch.clone(), count));
    Frame::new(case, copies.take(epochs).collect())
}

/// Exchanges epochs for those of a mixture as long as that gains something; gives the worth of the frame.
pub(super) fn improve(case: &Case, frame: &mut Frame, hull: &Hull) -> f64 {
    let mut worth = frame.settle(case, PASSES, GAIN);
    for _ in 0..ROUNDS {
        let mut gained = false;
        for _ in 0..frame.epochs.len() {
            if !once(case, frame, hull) {
                break;
            }
            gained = true;
        }
        if !gained {
            break;
        }
        let before = core::mem::replace(&mut worth, frame.settle(case, PASSES, GAIN));
        if worth - before < GAIN {
            break;
        }
    }
    worth
}

/// Exchanges one epoch, if that gains something.
fn once(case: &Case, frame: &mut Frame, hull: &Hull) -> bool {
    let slopes = case.slopes(&frame.mean);
    let ranked = |epochs: &[Epoch], sign: f64| {
        let mut ranked: Vec<(f64, usize)> = epochs
            .iter()
            .map(|epoch| sign * epoch.worth(&slopes))
            .zip(0..)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(TRIED);
        ranked
    };
    let (come, go) = (ranked(&hull.frame.epochs, 1.0), ranked(&frame.epochs, -1.0));
    for (_, by) in &come {
        for (_, at) in &go {
            if frame
                .exchange(case, (*at, &hull.frame.epochs[*by]))
                .is_some()
            {
                return true;
            }
        }
    }
    false
}
