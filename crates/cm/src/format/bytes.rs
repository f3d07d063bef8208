//! Fields of a message one after another, most significant byte first.

/// Takes fields off the front. Beyond the end everything is zero; the layouts add up to what a MAD holds, which their
/// tests hold them to.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((front, rest)) => {
                self.0 = rest;
                *front
            }
            None => [0; N],
        }
    }

    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.array())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(crate) fn u24(&mut self) -> u32 {
        let [high, middle, low] = self.array();
        u32::from_be_bytes([0, high, middle, low])
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }
}

/// Writes fields to the front. What doesn't fit is left out, as above.
pub(crate) struct Writer<'a>(&'a mut [u8]);

impl<'a> Writer<'a> {
    pub(crate) const fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let room = core::mem::take(&mut self.0);
        let length = bytes.len().min(room.len());
        let (front, rest) = room.split_at_mut(length);
        front.copy_from_slice(&bytes[..length]);
        self.0 = rest;
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// The low 24 bits of `value`.
    pub(crate) fn u24(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes()[1..]);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }
}
