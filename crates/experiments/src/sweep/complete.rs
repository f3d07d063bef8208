//! A sweep, carried out.

use std::ops::ControlFlow;

use crate::error::Error;
use crate::sweep::Sweep;
use crate::sweep::local::{Executor, in_order};
use crate::sweep::store::Store;

/// A run that couldn't be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its number.
    pub run: usize,
    /// Why.
    pub error: Error,
}

/// What whoever waits for a sweep is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The run that has ended, if any has.
    pub run: Option<usize>,
    /// Runs that have a record, or failed.
    pub ended: usize,
    /// All runs.
    pub runs: usize,
    /// What has been done since the beginning, in no unit.
    pub done: u64,
    /// What is to be done, in the same.
    pub work: u64,
}

/// Measures the runs that have no record yet and keeps their records. Ends early, without an error, if the executor
/// is stopped; returns the runs that failed, which have no record.
///
/// # Errors
/// If a record can't be kept; those before are.
pub fn complete(
    sweep: &Sweep,
    store: &mut Store,
    executor: &dyn Executor,
    watch: &mut (dyn FnMut(Told) + Send),
) -> Result<Vec<Failed>, Error> {
    let missing = in_order(sweep, store.missing(sweep));
    let work = |run: usize| sweep.runs()[run].work.max(1);
    let mut told = Told {
        run: None,
        ended: sweep.runs().len() - missing.len(),
        runs: sweep.runs().len(),
        done: 0,
        work: missing.iter().map(|run| work(*run)).sum(),
    };
    watch(told);
    let (mut failed, mut broken) = (Vec::new(), None);
    executor.execute(sweep, &missing, &mut |run, measured| {
        match measured {
            Ok(record) => {
                if let Err(error) = store.add(record) {
                    broken = Some(error);
                    return ControlFlow::Break(());
                }
            }
            Err(error) if error.stopped => return ControlFlow::Continue(()),
            Err(error) => failed.push(Failed { run, error }),
        }
        told = Told {
            run: Some(run),
            ended: told.ended + 1,
            done: told.done.saturating_add(work(run)),
            ..told
        };
        watch(told);
        ControlFlow::Continue(())
    })?;
    match broken {
        Some(error) => Err(error),
        None => Ok(failed),
    }
}
