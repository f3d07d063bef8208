//! What a message is.

use crate::section::words;

words! {
    /// What a message is. The source of a message posts it; a READ's data comes from the destination.
    Verb = Write {
        /// RDMA WRITE.
        Write "write",
        /// SEND into a posted receive.
        Send "send",
        /// RDMA READ: the size is that of the response.
        Read "read",
        /// FETCH-ADD on eight bytes.
        FetchAdd "fetch-add",
        /// CMP-SWAP on eight bytes.
        CompareSwap "compare-swap",
    }
}

impl Verb {
    /// Whether it works on eight bytes at once.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    /// Whether it ends with a response that carries data.
    pub const fn awaits_response(self) -> bool {
        matches!(self, Self::Read | Self::FetchAdd | Self::CompareSwap)
    }
}
