//! The wire format of Protocol Buffers, as far as reading needs it.
//!
//! A message is a slice of the file; a length is believed only where so many bytes are there. Sources:
//! "Encoding" in the language guide of Protocol Buffers.

/// What is wrong with the bytes.
#[derive(Debug)]
pub(super) struct Fault {
    /// Where, in bytes from the beginning of the file.
    pub(super) at: usize,
    pub(super) message: String,
}

/// Bytes that are still to be read, and where in the file they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    pub(super) rest: &'a [u8],
    pub(super) at: usize,
}

/// What a field has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// A string, a message, or packed numbers.
    Bytes(Bytes<'a>),
}

impl<'a> Bytes<'a> {
    /// A fault where the next byte is.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            at: self.at,
            message: message.into(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn split(&mut self, count: usize) -> &'a [u8] {
        let (first, rest) = self.rest.split_at(count);
        (self.rest, self.at) = (rest, self.at + count);
        first
    }

    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        let start = *self;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.rest.first() else {
                return Err(start.fault("the number's end is missing"));
            };
            self.split(1);
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(start.fault("a number of more than 64 bits"))
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let found = self.rest.first_chunk().copied().ok_or_else(|| {
            let message = format!(
                "a number of {N} bytes, of which {} are there",
                self.rest.len()
            );
            self.fault(message)
        })?;
        self.split(N);
        Ok(found)
    }

    /// What has its length before it.
    pub(super) fn delimited(&mut self) -> Result<Self, Fault> {
        let start = *self;
        let length = self.varint()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.rest.len() => {
                let at = self.at;
                let rest = self.split(length);
                Ok(Self { rest, at })
            }
            _ => {
                let there = self.rest.len();
                let message = format!("a length of {length} bytes, of which {there} are there");
                Err(start.fault(message))
            }
        }
    }

    /// The next field: its number and value.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Fault> {
        if self.is_empty() {
            return Ok(None);
        }
        let start = *self;
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return Err(start.fault(format!("field {number}, expected 1 to 2^29 - 1")));
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Value::Bytes(self.delimited()?),
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            kind => {
                let message = format!("wire type {kind}, expected 0, 1, 2 or 5");
                return Err(start.fault(message));
            }
        };
        Ok(Some((number, value)))
    }
}
