//! DREP, the reply to the end of a connection (IBTA 12.6.11, table 113).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 to 231 | private data |

use crate::format::plain::plain;

plain! {
    /// A reply to DREQ.
    Drep
}
