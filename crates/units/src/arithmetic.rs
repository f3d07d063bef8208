//! Sums, differences and multiples of a quantity.

/// Adds quantities of one type, and multiplies them by counts. Overflow is a bug, as of integers.
macro_rules! arithmetic {
    ($type:ident, $unit:literal) => {
        impl core::ops::Add for $type {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl core::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl core::ops::Sub for $type {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl core::ops::SubAssign for $type {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl core::ops::Mul<u64> for $type {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl core::ops::Div<u64> for $type {
            type Output = Self;
            #[doc = concat!("Rounds down to a whole ", $unit, ".")]
            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl core::iter::Sum for $type {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, core::ops::Add::add)
            }
        }
    };
}

pub(crate) use arithmetic;
