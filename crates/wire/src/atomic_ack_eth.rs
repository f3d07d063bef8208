//! Atomic acknowledge extended transport header (IBTA 9.5.3).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                     original data, 64 bits                    |
//! |                                                               |
//! +---------------------------------------------------------------+
//! ```

crate::word::word! {
    /// What an atomic operation found.
    AtomicAckEth: [u64; 8], shown as "original";
    /// The value in memory before the operation.
    original
}
