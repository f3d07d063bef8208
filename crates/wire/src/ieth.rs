//! Invalidate extended transport header (IBTA 9.3.7).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                          remote key                           |
//! +---------------------------------------------------------------+
//! ```

crate::word::word! {
    /// The key that a SEND with Invalidate takes away.
    Ieth: [u32; 4], shown as "ieth";
    /// The key to invalidate (R_Key).
    key
}
