//! Immediate data (IBTA 9.3.6).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                        immediate data                         |
//! +---------------------------------------------------------------+
//! ```

crate::word::word! {
    /// Data that a SEND or WRITE hands to the receiver's completion.
    ImmDt: [u32; 4], shown as "immdt";
    /// The data, most significant byte first on the wire.
    data
}
