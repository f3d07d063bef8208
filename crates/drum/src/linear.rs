//! Small systems of linear equations.

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
