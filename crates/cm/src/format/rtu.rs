//! RTU, "ready to use", by which the active side ends the opening (IBTA 12.6.9, table 111).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 to 231 | private data |

use crate::format::plain::plain;

plain! {
    /// Word that the active side is ready.
    Rtu
}
