//! How traffic classes share a port of a switch or of a NIC.

use crate::section::element;

/// The largest weight, which makes percentages and the weights of switches possible.
const MOST_WEIGHT: u32 = 1000;

element! {
    /// When a traffic class sends: `strict = true`, or a `weight`. Class 0, control, is before all of them.
    #[derive(Copy, Eq)]
    ClassSchedule {
        /// The class.
        class: u8 => class,
        /// Whether it goes before classes of a lower number and before all with weights.
        #[serde(skip_serializing_if = "is_false")]
        strict: bool = "bool::default",
        /// Its share of what strict classes leave, in proportion to the weights of other classes that have packets, by bytes
        /// (DWRR). Percentages of ETS are such weights.
        weight [1, MOST_WEIGHT]: Option<u32>,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_false(value: &bool) -> bool {
    !*value
}
