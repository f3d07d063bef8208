//! Headers that are one number.

/// Defines a header that is one number of so many bytes, most significant byte first, and its test.
macro_rules! word {
    (
        $(#[$doc:meta])* $header:ident: [$number:ident; $bytes:literal], shown as $shown:literal;
        $(#[$about:meta])* $field:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $header {
            $(#[$about])*
            pub $field: $number,
        }

        impl $header {
            /// Length in bytes.
            pub const LENGTH: usize = $bytes;

            /// Takes the header off the front of `bytes` and returns what follows it.
            ///
            /// # Errors
            /// If the bytes end early.
            #[inline]
            pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), $crate::Error> {
                let (bytes, rest) = $crate::bytes::take(bytes, $crate::Field::$header)?;
                let $field = $number::from_be_bytes(*bytes);
                Ok((Self { $field }, rest))
            }

            /// Writes the header to the front of `buffer` and returns the room behind it.
            ///
            /// # Errors
            /// If the buffer is too small.
            #[inline]
            pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], $crate::Error> {
                let (bytes, rest) = $crate::bytes::room(buffer, $crate::Field::$header)?;
                *bytes = self.$field.to_be_bytes();
                Ok(rest)
            }
        }

        impl core::fmt::Display for $header {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($shown, "={:#x}"), self.$field)
            }
        }

        #[cfg(test)]
        mod tests {
            use super::$header;

            #[test]
            fn the_most_significant_byte_comes_first() {
                let bytes: [u8; $bytes] = core::array::from_fn(|i| 0x12 + i as u8);
                let header = $header {
                    $field: bytes.iter().fold(0, |number, byte| number << 8 | $number::from(*byte)),
                };
                assert_eq!($header::parse(&bytes), Ok((header, &[][..])));
                let mut buffer = [0; $header::LENGTH];
                assert!(header.emit(&mut buffer).is_ok());
                assert_eq!(buffer, bytes);
            }
        }
    };
}
pub(crate) use word;
