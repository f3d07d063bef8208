//! Keeps the last primal iterate: the result, if the line search accepts it and ends.

use core::cell::{Ref, RefCell};

use crate::pass::{Output, Pass, Rates};
use crate::problem::Problem;

/// A problem that notes what it answered last.
pub(crate) struct LastIterate<'a, const R: usize> {
    pub(crate) problem: &'a Problem,
    last: RefCell<Noted<R>>,
}

/// Rates that were answered to prices, which aren't numbers before there are any.
#[derive(Clone, Debug)]
pub(crate) struct Noted<const R: usize> {
    pub(crate) prices: [f64; R],
    pub(crate) rates: Rates,
}

impl<const R: usize> Noted<R> {
    /// Nothing yet; with `follow`, to be kept for another search.
    pub(crate) fn new(problem: &Problem, follow: bool) -> Self {
        Self {
            prices: [f64::NAN; R],
            rates: Rates::new(problem, follow),
        }
    }
}

impl<'a, const R: usize> LastIterate<'a, R> {
    pub(crate) fn new(problem: &'a Problem, last: Noted<R>) -> Self {
        let last = RefCell::new(last);
        Self { problem, last }
    }

    pub(crate) fn into_last(self) -> Noted<R> {
        self.last.into_inner()
    }

    /// Rates that it answers to prices.
    pub(crate) fn at(&self, prices: [f64; R]) -> Ref<'_, Rates> {
        if self.last.borrow().prices != prices {
            self.pass(prices);
        }
        Ref::map(self.last.borrow(), |last| &last.rates)
    }

    /// What it answers to prices.
    pub(crate) fn pass(&self, prices: [f64; R]) -> Pass<R> {
        let last = &mut *self.last.borrow_mut();
        let from = core::mem::replace(&mut last.prices, prices);
        let follow = self.problem.follow(from, prices, &mut last.rates);
        follow.unwrap_or_else(|| self.problem.answers(prices, Output::Rates(&mut last.rates)))
    }
}
