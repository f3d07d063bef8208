//! The least value of a convex function of prices that aren't negative.
//!
//! Every value and subgradient cuts away prices that can't be better. In one dimension what is left is
//! an interval, in the plane a polygon that is cut through its centre of gravity (each cut leaves at
//! most 1 - 1/e of its area, Grünbaum 1960), from three dimensions on an ellipsoid (Bland, Goldfarb and
//! Todd, "The ellipsoid method: a survey", 1981, with deep cuts). The first region is a guess: one that
//! turns out too small is widened, and the cuts known by then are made again.

use alloc::vec::Vec;

use self::region::Region;

mod region;

/// Regions are widened by this factor when the best prices lie at their edge.
const WIDEN: f64 = 64.0;

/// Differences of values below this, relative to the least, count as none.
const NOISE: f64 = 1e-13;

/// Most times that a region is widened.
const WIDENINGS: usize = 10;

/// A value and subgradient of the function.
#[derive(Clone, Debug)]
struct Tangent {
    at: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
}

impl Tangent {
    /// What the function is worth at `point` at least.
    fn bound(&self, point: &[f64]) -> f64 {
        let change: f64 = self
            .slope
            .iter()
            .zip(point.iter().zip(&self.at))
            .map(|(slope, (to, from))| slope * (to - from))
            .sum();
        self.value + change
    }
}

/// Where the least value can still be, and the best known.
#[derive(Clone, Debug)]
pub(crate) struct Localiser {
    upper: Vec<f64>,
    /// Prices above this make the function infinite.
    limit: Vec<f64>,
    region: Region,
    tangents: Vec<Tangent>,
    best: Option<usize>,
    widened: usize,
    exhausted: bool,
}

impl Localiser {
    /// Starts with prices from zero to `upper`, a guess; `limit` holds for sure (may be infinite).
    pub(crate) fn new(upper: &[f64], limit: &[f64]) -> Self {
        let upper: Vec<f64> = upper.iter().zip(limit).map(|(u, l)| u.min(*l)).collect();
        Self {
            region: Region::new(&upper),
            upper,
            limit: limit.to_vec(),
            tangents: Vec::new(),
            best: None,
            widened: 0,
            exhausted: false,
        }
    }

    /// Least value so far, infinity before the first.
    pub(crate) fn best(&self) -> f64 {
        self.best
            .map_or(f64::INFINITY, |index| self.tangents[index].value)
    }

    /// Where the least value so far is.
    pub(crate) fn best_at(&self) -> Option<&[f64]> {
        self.best.map(|index| self.tangents[index].at.as_slice())
    }

    /// Prices to look at next.
    pub(crate) fn next(&self, prices: &mut [f64]) {
        self.region.centre(prices);
        for (price, limit) in prices.iter_mut().zip(&self.limit) {
            *price = price.clamp(0.0, *limit);
        }
    }

    /// Whether prices can be better than the best known.
    pub(crate) fn contains(&self, prices: &[f64]) -> bool {
        let inside = |(price, upper): (&f64, &f64)| price <= upper;
        prices.iter().zip(&self.upper).all(inside)
            && self
                .tangents
                .iter()
                .filter(|tangent| tangent.value.is_finite())
                .all(|tangent| tangent.bound(prices) < self.best())
    }

    /// Least and greatest price of each row that the region has.
    pub(crate) fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let range = |axis| self.region.range(axis);
        let (low, high): (Vec<f64>, Vec<f64>) = (0..self.upper.len()).map(range).unzip();
        let clamp = |value: f64| value.max(0.0);
        (low.into_iter().map(clamp).collect(), high)
    }

    /// Whether the region ends before it reaches a side that was a guess.
    pub(crate) fn is_inside(&self) -> bool {
        !self.region.reaches(&self.upper, &self.limit)
    }

    /// Hears of the function at `at`: its value, infinity if it has none, and a subgradient (or a
    /// direction along which it stays infinite).
    pub(crate) fn on_value(&mut self, at: &[f64], value: f64, slope: &[f64]) {
        let tangent = Tangent {
            at: at.to_vec(),
            value,
            slope: slope.to_vec(),
        };
        let improves = value < self.best();
        self.tangents.push(tangent);
        if improves {
            self.best = Some(self.tangents.len() - 1);
        }
        let last = self.tangents.len() - 1;
        // A lower value makes the cuts of the last tangents deeper.
        let first = if improves {
            last.saturating_sub(24)
        } else {
            last
        };
        for index in (first..=last).rev() {
            self.cut(index);
        }
    }

    /// What the function is worth anywhere at least, as far as the region is right.
    pub(crate) fn lower(&self) -> f64 {
        let first = self.tangents.len().saturating_sub(24);
        let best = self.best.into_iter().chain(first..self.tangents.len());
        best.filter(|index| self.tangents[*index].value.is_finite())
            .map(|index| self.region.least(&self.tangents[index]))
            .fold(f64::NEG_INFINITY, f64::max)
            .min(self.best())
    }

    /// Whether the best value is known to be within `tolerance` (absolute) of the least, or can't
    /// be improved in double precision. Widens the region where the answer lies at its edge.
    pub(crate) fn is_done(&mut self, tolerance: f64) -> bool {
        let done = self.exhausted
            || (tolerance > 0.0 && self.best() - self.lower() <= tolerance)
            || self.region.is_point(self.best_at().unwrap_or(&self.upper));
        if !done {
            return false;
        }
        let edge = self.best_at().is_none_or(|best| {
            best.iter()
                .zip(self.upper.iter().zip(&self.limit))
                .any(|(price, (upper, limit))| upper < limit && *price > 0.99 * upper)
        });
        let edge = edge || self.region.reaches(&self.upper, &self.limit);
        if !edge || self.widened == WIDENINGS {
            return true;
        }
        self.widen();
        false
    }

    /// Widens the region to prices up to `upper`.
    pub(crate) fn include(&mut self, upper: &[f64]) {
        let known = self.upper.iter().zip(&self.limit);
        let wider = known.zip(upper);
        let wider = wider.map(|((known, limit), upper)| known.max(upper.min(*limit)));
        let wider: Vec<f64> = wider.collect();
        if wider != self.upper {
            self.upper = wider;
            self.lay_out();
        }
    }

    fn widen(&mut self) {
        self.widened += 1;
        for (upper, limit) in self.upper.iter_mut().zip(&self.limit) {
            *upper = (*upper * WIDEN).min(*limit);
        }
        self.lay_out();
    }

    /// Begins with all prices up to `upper`, and makes the cuts again that are known.
    fn lay_out(&mut self) {
        self.exhausted = false;
        self.region = Region::new(&self.upper);
        for index in 0..self.tangents.len() {
            self.cut(index);
        }
    }

    fn cut(&mut self, index: usize) {
        let tangent = &self.tangents[index];
        // A depth that may be rounding would cut the answer off.
        let depth = tangent.value - self.best();
        let depth = if depth.is_finite() && depth > NOISE * self.best().abs() {
            depth
        } else {
            0.0
        };
        if !self.region.cut(&tangent.at, &tangent.slope, depth) {
            self.exhausted = true;
        }
    }
}

#[cfg(test)]
mod tests;
