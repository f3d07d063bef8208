//! Messages that say nothing but which connection they are about.

/// A message of two names and private data.
macro_rules! plain {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            /// The sender's name of the connection.
            pub local_id: u32,
            /// The receiver's name of it.
            pub remote_id: u32,
            /// What the application says.
            pub private_data: [u8; Self::PRIVATE_DATA],
        }

        impl $name {
            /// Bytes of private data.
            pub const PRIVATE_DATA: usize = 224;

            pub(crate) fn parse(body: &[u8; $crate::format::header::BODY]) -> Self {
                let mut from = $crate::format::bytes::Reader::new(body);
                Self {
                    local_id: from.u32(),
                    remote_id: from.u32(),
                    private_data: from.array(),
                }
            }

            pub(crate) fn emit(&self, to: &mut $crate::format::bytes::Writer<'_>) {
                to.u32(self.local_id);
                to.u32(self.remote_id);
                to.bytes(&self.private_data);
            }
        }
    };
}
pub(crate) use plain;
