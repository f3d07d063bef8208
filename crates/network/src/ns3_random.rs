//! The random numbers of ns-3: L'Ecuyer's MRG32k3a, a new stream for every number.
//!
//! HPCC's simulator makes a new random variable for every marking decision and every pause frame, and
//! ns-3 gives each new variable the next stream. So the n-th decision of a run uses the first number
//! of stream n, and can be reproduced. Source: L'Ecuyer, "Good parameters and implementations for
//! combined multiple recursive random number generators", Operations Research 47 (1999); streams
//! are 2^127 steps apart, runs 2^76 (L'Ecuyer et al., Operations Research 50, 2002).

type Vector = [u64; 3];
type Matrix = [Vector; 3];

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
const A1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]];
const A2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]];
/// 1 / (m1 + 1).
const NORM: f64 = 2.328_306_549_295_728e-10;

/// The streams of a run of ns-3 with its default seed 1 and run 1.
#[derive(Clone, Debug)]
pub(crate) struct Ns3Random {
    first: Vector,
    second: Vector,
    jump: [Matrix; 2],
}

impl Ns3Random {
    /// Begins at the first stream left after the set-up of `nodes` nodes: found by matching runs of
    /// 10, 18 and 376 nodes, each node takes 6 streams and the error model 2.
    pub(crate) fn after_setup(nodes: usize) -> Self {
        Self::at_stream(2 + 6 * nodes as u64)
    }

    fn at_stream(stream: u64) -> Self {
        let jump = [power_of_two(&A1, 127, M1), power_of_two(&A2, 127, M2)];
        let run = [power_of_two(&A1, 76, M1), power_of_two(&A2, 76, M2)];
        let start = |jump: &Matrix, run: &Matrix, modulus| {
            multiply_vector(
                &power(jump, stream, modulus),
                &multiply_vector(run, &[1; 3], modulus),
                modulus,
            )
        };
        Self {
            first: start(&jump[0], &run[0], M1),
            second: start(&jump[1], &run[1], M2),
            jump,
        }
    }

    /// The first number of the next stream, in 0..1.
    pub(crate) fn next_f64(&mut self) -> f64 {
        let one = multiply_vector(&A1, &self.first, M1)[2];
        let two = multiply_vector(&A2, &self.second, M2)[2];
        self.skip();
        let difference = if one > two { one - two } else { one + M1 - two };
        // Below 2^32, so exact.
        difference as f64 * NORM
    }

    /// Gives a stream away.
    pub(crate) fn skip(&mut self) {
        self.first = multiply_vector(&self.jump[0], &self.first, M1);
        self.second = multiply_vector(&self.jump[1], &self.second, M2);
    }
}

fn multiply_vector(matrix: &Matrix, vector: &Vector, modulus: u64) -> Vector {
    matrix.map(|row| {
        let sum: u128 = row
            .iter()
            .zip(vector)
            .map(|(&a, &b)| u128::from(a) * u128::from(b))
            .sum();
        (sum % u128::from(modulus)) as u64
    })
}

fn multiply(a: &Matrix, b: &Matrix, modulus: u64) -> Matrix {
    let column = |j: usize| multiply_vector(a, &[b[0][j], b[1][j], b[2][j]], modulus);
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i]])
}

/// `matrix` to the power 2^`exponent`.
fn power_of_two(matrix: &Matrix, exponent: u32, modulus: u64) -> Matrix {
    (0..exponent).fold(*matrix, |square, _| multiply(&square, &square, modulus))
}

fn power(matrix: &Matrix, mut exponent: u64, modulus: u64) -> Matrix {
    let (mut result, mut square) = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], *matrix);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(&result, &square, modulus);
        }
        square = multiply(&square, &square, modulus);
        exponent >>= 1;
    }
    result
}
