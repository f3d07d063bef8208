//! Prices of a fixed selection row by row, for where prices differ by many orders of magnitude.
//!
//! Given the prices of the rows before it, a row's use falls when its own price rises and the rows after it settle
//! again (the dual function is convex, and so is its least value over some of the prices). So each row's price is
//! the root of a monotone function, and is found between two prices of which one is too low and one too high. That
//! takes many passes, but neither steps nor regions have to be of the right size.

use crate::newton::Model;
use crate::supply::Staircase;

/// Factors, as logarithms, by which a bracket is widened at first and at most.
const FIRST: f64 = 0.1;
const WIDEST: f64 = 50.0;
/// Logarithms of the prices that are tried.
const RANGE: f64 = 690.0;
/// Most steps within a bracket.
const STEPS: usize = 80;
/// Ends of a bracket this close, as logarithms, are the same price.
const SAME: f64 = 4e-16;
/// Differences of a row's use below this part of what is supplied are rounding.
const NOISE: f64 = 4e-16;

/// Settles the rows of a model.
pub(crate) struct Nested<'a, const R: usize, M> {
    model: &'a M,
    supplies: &'a [Staircase],
    /// Use of rows by floors.
    base: [f64; R],
    typical: [f64; R],
    limit: usize,
    /// Rows, those without a price first: they are likely to stay without one, and then they are settled only once.
    order: [usize; R],
    pub(crate) prices: [f64; R],
    pub(crate) passes: usize,
}

/// A row's price as a logarithm, how far the use of the row is above what is supplied (a logarithm too), and the
/// prices of all rows by then.
#[derive(Clone, Copy)]
struct End<const R: usize> {
    at: f64,
    excess: f64,
    prices: [f64; R],
}

impl<'a, const R: usize, M: Model<R>> Nested<'a, R, M> {
    /// Begins at `guess`, prices for the rows' units; takes at most about `limit` passes.
    pub(crate) fn new(
        model: &'a M,
        supplies: &'a [Staircase],
        guess: &[f64],
        limit: usize,
    ) -> Self {
        let has_price = |row: &usize| guess.get(*row).is_some_and(|price| *price > 0.0);
        let mut order: [usize; R] = core::array::from_fn(|row| row);
        order[..supplies.len()].sort_by_key(has_price);
        Self {
            order,
            base: model.floors(),
            typical: model.first_prices(),
            prices: core::array::from_fn(|r| guess.get(r).copied().unwrap_or(0.0)),
            passes: 0,
            model,
            supplies,
            limit,
        }
    }

    /// Settles all rows; false if passes ran out before.
    pub(crate) fn run(&mut self) -> bool {
        self.settle(0);
        self.passes < self.limit
    }

    /// What a row's price, given with its logarithm, leads to when the rows after it have settled.
    fn end(&mut self, place: usize, at: f64, price: f64) -> End<R> {
        let row = self.order[place];
        self.prices[row] = price;
        if place + 1 < self.supplies.len() {
            self.settle(place + 1);
        }
        self.passes += 1;
        let usage = self.model.pass(self.prices).usage[row];
        End {
            at,
            excess: self.excess(row, usage, self.supplies[row].supplied(price)),
            prices: self.prices,
        }
    }

    fn excess(&self, row: usize, usage: f64, supplied: f64) -> f64 {
        let (over, room) = (usage - self.base[row], supplied - self.base[row]);
        let noise = NOISE * supplied;
        if !over.is_finite() {
            f64::INFINITY
        } else if room > noise && over > 0.0 {
            let excess = libm::log(over / room);
            if excess.abs() * room <= noise {
                0.0
            } else {
                excess
            }
        } else if over > room.max(0.0) + noise {
            WIDEST
        } else {
            -WIDEST
        }
    }

    /// Finds the price of the row at a place of the order, and of those after it.
    fn settle(&mut self, place: usize) {
        let row = self.order[place];
        let highest = self.supplies[row].highest();
        let mut guess = self.prices[row].min(highest);
        let mut free = None;
        if guess <= 0.0 {
            let none = self.end(place, f64::NEG_INFINITY, 0.0);
            if none.excess <= 0.0 || highest <= 0.0 {
                return;
            }
            free = Some(none);
            let typical = self.typical[row];
            guess = if typical > 0.0 { typical } else { 1.0 }.min(highest);
        }
        let first = self.end(place, libm::log(guess), guess);
        if first.excess == 0.0 {
            return;
        }
        if first.excess > 0.0 {
            self.above(place, first);
            return;
        }
        if free.is_none() && self.end(place, f64::NEG_INFINITY, 0.0).excess <= 0.0 {
            return;
        }
        self.below(place, first);
    }

    /// Looks above a price that is too low; ends at the highest if that is too low as well.
    fn above(&mut self, place: usize, mut low: End<R>) {
        let highest = self.supplies[self.order[place]].highest();
        let most = libm::log(highest).min(RANGE);
        let mut width = FIRST;
        while self.passes < self.limit && low.at < most {
            let at = (low.at + width).min(most);
            let price = if at >= most { highest } else { f64::INFINITY };
            let high = self.end(place, at, libm::exp(at).min(price));
            if high.excess <= 0.0 {
                self.between(place, low, high);
                return;
            }
            low = high;
            width = (3.0 * width).min(WIDEST);
        }
    }

    /// Looks below a price that is too high; ends at next to nothing if that is too high as well.
    fn below(&mut self, place: usize, mut high: End<R>) {
        let mut width = FIRST;
        while self.passes < self.limit && high.at > -RANGE {
            let at = (high.at - width).max(-RANGE);
            let low = self.end(place, at, libm::exp(at));
            if low.excess > 0.0 {
                self.between(place, low, high);
                return;
            }
            high = low;
            width = (3.0 * width).min(WIDEST);
        }
    }

    /// Narrows a bracket: along the chord, or in the middle where that is slow.
    fn between(&mut self, place: usize, mut low: End<R>, mut high: End<R>) {
        let mut best = if -high.excess <= low.excess {
            high
        } else {
            low
        };
        let (mut stays, mut slow) = (0, 0);
        for _ in 0..STEPS {
            let width = high.at - low.at;
            let same = SAME * (1.0 + low.at.abs().max(high.at.abs()));
            if best.excess == 0.0 || width <= same || self.passes >= self.limit {
                break;
            }
            let middle = 0.5 * (low.at + high.at);
            let chord = low.at + width * low.excess / (low.excess - high.excess);
            let inside = chord > low.at && chord < high.at;
            let at = if slow < 3 && inside { chord } else { middle };
            if at <= low.at || at >= high.at {
                break;
            }
            let next = self.end(place, at, libm::exp(at));
            if next.excess.abs() <= best.excess.abs() {
                best = next;
            }
            // An end that stays counts half the next time, so that the chord doesn't lean on it for ever.
            let side = if next.excess > 0.0 { 1 } else { -1 };
            if side > 0 {
                low = next;
                high.excess *= if stays == side { 0.5 } else { 1.0 };
            } else {
                high = next;
                low.excess *= if stays == side { 0.5 } else { 1.0 };
            }
            stays = side;
            let narrow = high.at - low.at <= 0.5 * width;
            slow = if narrow { 0 } else { slow + 1 };
        }
        self.prices = best.prices;
    }
}
