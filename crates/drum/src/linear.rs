//! Small systems of linear equations.

use alloc::vec::Vec;

/// Solves `matrix * x = right` by elimination with pivots; nothing if it is singular.
pub(crate) fn solve_symmetric<const R: usize>(
    mut matrix: [[f64; R]; R],
    mut right: [f64; R],
) -> Option<[f64; R]> {
    for column in 0..R {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..R).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let lead = matrix[column][column];
        if lead.is_nan() || lead.abs() <= 1e-290 {
            return None;
        }
        for row in column + 1..R {
            let factor = matrix[row][column] / lead;
            for k in column..R {
                matrix[row][k] -= factor * matrix[column][k];
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..R).rev() {
        for k in row + 1..R {
            right[row] -= matrix[row][k] * right[k];
        }
        right[row] /= matrix[row][row];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

/// Solves a system whose matrix is symmetric and positive definite but for rounding; nothing if it isn't.
pub(crate) fn definite(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    // Rows are scaled so that the diagonal is 1.
    let scale: Vec<f64> = (0..n)
        .map(|r| 1.0 / libm::sqrt(matrix[r * n + r].max(1e-300)))
        .collect();
    for row in 0..n {
        for column in 0..=row {
            matrix[row * n + column] *= scale[row] * scale[column];
        }
        right[row] *= scale[row];
    }
    for row in 0..n {
        let (above, rest) = matrix.split_at_mut(row * n);
        let own = &mut rest[..n];
        for column in 0..row {
            let other = &above[column * n..][..=column];
            let products: f64 = own[..column].iter().zip(other).map(|(a, b)| a * b).sum();
            own[column] = (own[column] - products) / other[column];
        }
        let square: f64 = own[..row].iter().map(|entry| entry * entry).sum();
        // What is left of a row that others span is rounding.
        own[row] = libm::sqrt((own[row] - square).max(1e-30));
    }
    for row in 0..n {
        let known: f64 = (0..row).map(|k| matrix[row * n + k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row * n + row];
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[k * n + row] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row * n + row];
    }
    for (value, scale) in right.iter_mut().zip(&scale) {
        *value *= scale;
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}
