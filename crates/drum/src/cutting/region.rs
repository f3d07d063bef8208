//! Sets of prices that still can hold the least value, and how they are cut.

use alloc::vec;
use alloc::vec::Vec;

use super::Tangent;

/// Regions smaller than this, relative to prices, are points.
const POINT: f64 = 1e-15;

/// A set of prices.
#[derive(Clone, Debug)]
pub(super) enum Region {
    /// Prices of one row, from the first to the second.
    Interval(f64, f64),
    /// Convex, vertices in counter-clockwise order.
    Polygon(Vec<[f64; 2]>),
    /// All prices with `(x - centre)' shape^-1 (x - centre) <= 1`.
    Ellipsoid { centre: Vec<f64>, shape: Vec<f64> },
}

impl Region {
    /// Prices from zero to `upper`.
    pub(super) fn new(upper: &[f64]) -> Self {
        match *upper {
            [only] => Self::Interval(0.0, only),
            [first, second] => Self::Polygon(vec![
                [0.0, 0.0],
                [first, 0.0],
                [first, second],
                [0.0, second],
            ]),
            _ => Self::around(upper),
        }
    }

    /// The ellipsoid around a box.
    fn around(upper: &[f64]) -> Self {
        let dimensions = upper.len();
        let mut shape = vec![0.0; dimensions * dimensions];
        for (index, &length) in upper.iter().enumerate() {
            shape[index * (dimensions + 1)] = dimensions as f64 * length * length / 4.0;
        }
        Self::Ellipsoid {
            centre: upper.iter().map(|length| length / 2.0).collect(),
            shape,
        }
    }

    /// Writes the centre of gravity.
    pub(super) fn centre(&self, prices: &mut [f64]) {
        match self {
            Self::Interval(from, to) => prices[0] = from + (to - from) / 2.0,
            Self::Polygon(vertices) => prices.copy_from_slice(&centroid(vertices)),
            Self::Ellipsoid { centre, .. } => prices.copy_from_slice(centre),
        }
    }

    /// Keeps the part where a function that is `depth` too large at `at` and has the subgradient `slope`
    /// can be low enough. False if nothing can be cut because the rest is too small.
    pub(super) fn cut(&mut self, at: &[f64], slope: &[f64], depth: f64) -> bool {
        match self {
            Self::Interval(from, to) => cut_interval(from, to, [at[0], slope[0], depth]),
            Self::Polygon(vertices) => {
                let normal = [slope[0], slope[1]];
                let limit = normal[0] * at[0] + normal[1] * at[1] - depth;
                match clip(vertices, normal, limit) {
                    Some(kept) => {
                        *vertices = kept;
                        true
                    }
                    None => false,
                }
            }
            Self::Ellipsoid { centre, shape } => cut_ellipsoid(centre, shape, at, slope, depth),
        }
    }

    /// Least value of a tangent over the region.
    pub(super) fn least(&self, tangent: &Tangent) -> f64 {
        match self {
            Self::Interval(from, to) => tangent.bound(&[*from]).min(tangent.bound(&[*to])),
            Self::Polygon(vertices) => vertices
                .iter()
                .map(|vertex| tangent.bound(vertex))
                .fold(f64::INFINITY, f64::min),
            Self::Ellipsoid { centre, shape } => {
                let (_, reach) = direction(shape, &tangent.slope);
                tangent.bound(centre) - reach
            }
        }
    }

    /// Least and greatest coordinate.
    pub(super) fn range(&self, axis: usize) -> (f64, f64) {
        match self {
            Self::Interval(from, to) => (*from, *to),
            Self::Polygon(vertices) => range(vertices, axis),
            Self::Ellipsoid { centre, shape } => {
                let reach = libm::sqrt(shape[axis * (centre.len() + 1)].max(0.0));
                (centre[axis] - reach, centre[axis] + reach)
            }
        }
    }

    /// Whether the region is one point in double precision.
    pub(super) fn is_point(&self, near: &[f64]) -> bool {
        match self {
            Self::Interval(from, to) => to - from <= POINT * to,
            Self::Polygon(vertices) => (0..2).all(|axis| {
                let (low, high) = range(vertices, axis);
                high - low <= POINT * near[axis].abs().max(high)
            }),
            Self::Ellipsoid { shape, .. } => {
                let dimensions = near.len();
                (0..dimensions).all(|axis| {
                    let reach = libm::sqrt(shape[axis * (dimensions + 1)].max(0.0));
                    reach <= POINT * near[axis].abs().max(1e-300)
                })
            }
        }
    }

    /// Whether the region reaches an upper side that is a guess.
    pub(super) fn reaches(&self, upper: &[f64], limit: &[f64]) -> bool {
        let guess = |axis: usize| upper[axis] < limit[axis];
        match self {
            Self::Interval(_, to) => guess(0) && *to >= upper[0],
            Self::Polygon(vertices) => (0..2)
                .any(|axis| guess(axis) && range(vertices, axis).1 >= upper[axis] * (1.0 - 1e-12)),
            Self::Ellipsoid { centre, .. } => {
                (0..upper.len()).any(|axis| guess(axis) && centre[axis] > 0.99 * upper[axis])
            }
        }
    }
}

/// Least and greatest coordinate.
fn range(vertices: &[[f64; 2]], axis: usize) -> (f64, f64) {
    vertices
        .iter()
        .fold((f64::INFINITY, 0.0), |(low, high), vertex| {
            (low.min(vertex[axis]), high.max(vertex[axis]))
        })
}

/// Keeps one side of a point; the arguments are the point, the slope there, and the depth.
fn cut_interval(from: &mut f64, to: &mut f64, [at, slope, depth]: [f64; 3]) -> bool {
    if slope == 0.0 {
        (*from, *to) = (at, at);
        return false;
    }
    let edge = at - depth / slope;
    if slope > 0.0 {
        *to = to.min(edge.max(*from));
    } else {
        *from = from.max(edge.min(*to));
    }
    from < to
}

/// Centre of gravity, computed from the first vertex so that small polygons keep their precision.
fn centroid(vertices: &[[f64; 2]]) -> [f64; 2] {
    let [origin, ref rest @ ..] = *vertices else {
        return [0.0; 2];
    };
    let (mut area, mut sum) = (0.0, [0.0; 2]);
    for pair in rest.windows(2) {
        let (a, b) = (minus(pair[0], origin), minus(pair[1], origin));
        let twice = a[0] * b[1] - a[1] * b[0];
        area += twice;
        sum[0] += twice * (a[0] + b[0]) / 3.0;
        sum[1] += twice * (a[1] + b[1]) / 3.0;
    }
    if area > 0.0 {
        return [origin[0] + sum[0] / area, origin[1] + sum[1] / area];
    }
    let mean = |axis: usize| {
        vertices.iter().map(|vertex| vertex[axis]).sum::<f64>() / vertices.len() as f64
    };
    [mean(0), mean(1)]
}

fn minus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

/// The part of a polygon with `normal . x <= limit`, or nothing if there is none left.
fn clip(vertices: &[[f64; 2]], normal: [f64; 2], limit: f64) -> Option<Vec<[f64; 2]>> {
    let excess = |v: &[f64; 2]| normal[0] * v[0] + normal[1] * v[1] - limit;
    let mut kept = Vec::with_capacity(vertices.len() + 1);
    for (index, from) in vertices.iter().enumerate() {
        let to = &vertices[(index + 1) % vertices.len()];
        let (start, end) = (excess(from), excess(to));
        if start <= 0.0 {
            kept.push(*from);
        }
        if (start < 0.0 && end > 0.0) || (start > 0.0 && end < 0.0) {
            let part = start / (start - end);
            kept.push([
                from[0] + part * (to[0] - from[0]),
                from[1] + part * (to[1] - from[1]),
            ]);
        }
    }
    (kept.len() >= 3).then_some(kept)
}

/// `shape * slope` and how far the region reaches along `slope`, times the slope's size.
fn direction(shape: &[f64], slope: &[f64]) -> (Vec<f64>, f64) {
    let dimensions = slope.len();
    let product: Vec<f64> = (0..dimensions)
        .map(|row| {
            let entries = &shape[row * dimensions..][..dimensions];
            entries.iter().zip(slope).map(|(s, g)| s * g).sum()
        })
        .collect();
    let square: f64 = product.iter().zip(slope).map(|(p, g)| p * g).sum();
    (product, libm::sqrt(square.max(0.0)))
}

/// The least ellipsoid around the part that a deep cut leaves, with sides at zero cut first.
fn cut_ellipsoid(
    centre: &mut [f64],
    shape: &mut [f64],
    at: &[f64],
    slope: &[f64],
    depth: f64,
) -> bool {
    let excess: f64 = slope
        .iter()
        .zip(centre.iter().zip(at))
        .map(|(g, (c, a))| g * (c - a))
        .sum::<f64>()
        + depth;
    let mut alive = shrink(centre, shape, slope, excess);
    for axis in 0..centre.len() {
        if centre[axis] < 0.0 {
            let mut side = vec![0.0; centre.len()];
            side[axis] = -1.0;
            alive &= shrink(centre, shape, &side, -centre[axis]);
        }
    }
    alive
}

/// Keeps the part of an ellipsoid whose points are at least `excess` lower than its centre along
/// `slope`.
fn shrink(centre: &mut [f64], shape: &mut [f64], slope: &[f64], excess: f64) -> bool {
    let dimensions = centre.len();
    let n = dimensions as f64;
    let (product, reach) = direction(shape, slope);
    if reach.is_nan() || reach <= 0.0 || excess >= reach {
        return false;
    }
    let depth = excess / reach;
    if depth <= -1.0 / n {
        return true;
    }
    let step = (1.0 + n * depth) / (n + 1.0);
    let scale = n * n * (1.0 - depth * depth) / (n * n - 1.0);
    let fold = 2.0 * (1.0 + n * depth) / ((n + 1.0) * (1.0 + depth));
    for row in 0..dimensions {
        centre[row] -= step * product[row] / reach;
        for column in 0..dimensions {
            let entry = &mut shape[row * dimensions + column];
            let rank = product[row] * product[column] / (reach * reach);
            *entry = scale * (*entry - fold * rank);
        }
    }
    true
}
