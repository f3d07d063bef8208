//! Elementary functions without branches, tables or calls, so that loops over them become vector
//! instructions, and the same bits on every machine.
//!
//! Accuracy is a few units in the last place over the range that prices and rates can have; results
//! outside of it are clamped, not special values.

/// 1.5 * 2^52: adding it rounds to an integer, which is then in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// 2^52, whose low bits count in ones.
const ONES: u64 = 0x4330_0000_0000_0000;

/// `e^x`, for `x` clamped to 709; 0 below -708.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let tiny = x < -708.0;
    let x = clamp(x, -708.0, 709.0);
    let rounded = x * core::f64::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let power = scale * exp_near_zero(r);
    if tiny { 0.0 } else { power }
}

/// Taylor's series to the 13th power, for -0.35..0.35. Written out, as a loop would keep the loops
/// around it from becoming vector instructions.
#[inline(always)]
fn exp_near_zero(r: f64) -> f64 {
    let square = r * r;
    let fourth = square * square;
    let low = 0.5 + r * (1.0 / 6.0) + square * (1.0 / 24.0 + r * (1.0 / 120.0));
    let middle =
        1.0 / 720.0 + r * (1.0 / 5_040.0) + square * (1.0 / 40_320.0 + r * (1.0 / 362_880.0));
    let high = 1.0 / 3_628_800.0
        + r * (1.0 / 39_916_800.0)
        + square * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    1.0 + (r + square * (low + fourth * (middle + fourth * high)))
}

/// Natural logarithm of a positive number; that of anything below the least normal number is about -708.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = clamp(x, f64::MIN_POSITIVE, f64::MAX);
    // Mantissa between 0.707 and 1.414, exponent to match.
    let shifted = x.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = f64::from_bits(ONES | (shifted >> 52).wrapping_add(0x400) & 0xfff)
        - f64::from_bits(ONES | 0x400);
    let mantissa =
        f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_667f_3bcd));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    exponent * LN2_HIGH + (atanh_series(s) + exponent * LN2_LOW)
}

/// `2 atanh(s)` for -0.172..0.172, written out for the same reason.
#[inline(always)]
fn atanh_series(s: f64) -> f64 {
    let square = s * s;
    let fourth = square * square;
    let eighth = fourth * fourth;
    let low = 1.0 / 3.0 + square * (1.0 / 5.0) + fourth * (1.0 / 7.0 + square * (1.0 / 9.0));
    let middle = 1.0 / 11.0 + square * (1.0 / 13.0) + fourth * (1.0 / 15.0 + square * (1.0 / 17.0));
    let high = 1.0 / 19.0 + square * (1.0 / 21.0) + fourth * (1.0 / 23.0);
    2.0 * s + 2.0 * s * square * (low + eighth * (middle + eighth * high))
}

/// About `v^(1/6)`, within 4 percent, for positive `v`; large but finite for infinity.
#[inline(always)]
pub(crate) fn sixth_root_estimate(v: f64) -> f64 {
    // The bits of a positive number are nearly a logarithm; their upper half is divided by 6.
    let upper = v.to_bits() >> 32;
    let sixth = (upper.wrapping_mul(0xaaaa_aaab) >> 34) << 32;
    f64::from_bits(sixth + 0x3547_63c0_0000_0000)
}

/// About `v^(1/3)`, within 4 percent, for positive `v`; large but finite for infinity.
#[inline(always)]
pub(crate) fn cube_root_estimate(v: f64) -> f64 {
    let upper = v.to_bits() >> 32;
    let third = (upper.wrapping_mul(0xaaaa_aaab) >> 33) << 32;
    f64::from_bits(third + 0x2a9f_7748_0000_0000)
}

/// `v^(1/3)` for positive `v`.
#[inline(always)]
pub(crate) fn cube_root(v: f64) -> f64 {
    let mut root = cube_root_estimate(v);
    for _ in 0..3 {
        // Halley's step, each of which triples the number of right digits.
        let cube = root * root * root;
        root *= (cube + 2.0 * v) / (2.0 * cube + v);
    }
    root
}

/// `1 / sqrt(v)` for positive `v`.
#[inline(always)]
pub(crate) fn inverse_square_root(v: f64) -> f64 {
    // Half of what is not a number may be more.
    let mut root = f64::from_bits(0x5fe6_eb50_c7b5_37a9_u64.wrapping_sub(v.to_bits() >> 1));
    for _ in 0..3 {
        let h = 1.0 - v * root * root;
        root += root * h * (0.5 + 0.375 * h);
    }
    root
}

/// `sqrt(v)` for `v` that isn't negative.
#[inline(always)]
pub(crate) fn square_root(v: f64) -> f64 {
    let root = v * inverse_square_root(v);
    if v < f64::INFINITY { root } else { v }
}

/// As `f64::clamp`, with comparisons that vector instructions have; not a number becomes `least`.
#[inline(always)]
pub(crate) fn clamp(v: f64, least: f64, most: f64) -> f64 {
    let v = if v > least { v } else { least };
    if v < most { v } else { most }
}

/// The smaller one; the second if the first is not a number.
#[inline(always)]
pub(crate) fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(own: f64, right: f64, tolerance: f64) -> Result<(), TestCaseError> {
        let error = (own - right).abs() / right.abs().max(1e-300);
        prop_assert!(error < tolerance, "{own} instead of {right}: {error:e}");
        Ok(())
    }

    proptest! {
        #[test]
        fn exponentials_are_right(x in -700.0..700.0_f64) {
            close(exp(x), libm::exp(x), 4e-16)?;
        }

        #[test]
        fn logarithms_are_right(x in -700.0..700.0_f64) {
            let v = libm::exp(x);
            prop_assert!((ln(v) - libm::log(v)).abs() < 4e-16 * libm::log(v).abs().max(0.5));
        }

        #[test]
        fn roots_are_right(x in -600.0..600.0_f64) {
            let v = libm::exp(x);
            close(cube_root(v), libm::cbrt(v), 1e-15)?;
            close(inverse_square_root(v), 1.0 / libm::sqrt(v), 1e-15)?;
            close(square_root(v), libm::sqrt(v), 1e-15)?;
            close(cube_root_estimate(v), libm::cbrt(v), 0.04)?;
            close(sixth_root_estimate(v), libm::sqrt(libm::cbrt(v)), 0.04)?;
        }
    }

    #[test]
    fn edges_are_finite() {
        assert_eq!(square_root(0.0), 0.0);
        assert_eq!(square_root(f64::INFINITY), f64::INFINITY);
        assert!(square_root(f64::NAN).is_nan());
        assert!(ln(0.0) < -700.0 && ln(0.0).is_finite());
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(1e9).is_finite());
        assert_eq!(exp(-1e9), 0.0);
        assert!(sixth_root_estimate(f64::INFINITY).is_finite());
        assert!(inverse_square_root(f64::NAN).is_nan() && inverse_square_root(-f64::NAN).is_nan());
    }
}
