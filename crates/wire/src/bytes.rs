//! Fields of fixed headers, most significant byte first.
//!
//! Ranges are constants of the header's length or less, so that the compiler drops every check.

use core::ops::Range;

use crate::error::{Error, Field, Reason};

/// The header of `N` bytes in front, and what follows it.
#[inline]
pub(crate) fn take<const N: usize>(bytes: &[u8], field: Field) -> Result<(&[u8; N], &[u8]), Error> {
    bytes
        .split_first_chunk()
        .ok_or_else(|| Error::counted(field, Reason::Truncated, bytes.len()))
}

/// Room for a header of `N` bytes in front, and the room behind it.
#[inline]
pub(crate) fn room<const N: usize>(
    buffer: &mut [u8],
    field: Field,
) -> Result<(&mut [u8; N], &mut [u8]), Error> {
    let there = buffer.len();
    buffer
        .split_first_chunk_mut()
        .ok_or_else(|| Error::counted(field, Reason::NoRoom, there))
}

/// An error unless `value` has at most `bits` bits.
#[inline]
pub(crate) fn fits(field: Field, value: u32, bits: u32) -> Result<(), Error> {
    if value >> bits == 0 {
        Ok(())
    } else {
        Err(Error::new(field, Reason::OutOfRange, value))
    }
}

/// The bytes of a field.
#[inline]
pub(crate) fn array<const N: usize>(bytes: &[u8], field: Range<usize>) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[field]);
    array
}

#[inline]
pub(crate) fn read_u16(bytes: &[u8], field: Range<usize>) -> u16 {
    u16::from_be_bytes(array(bytes, field))
}

#[inline]
pub(crate) fn read_u24(bytes: &[u8], field: Range<usize>) -> u32 {
    let [high, middle, low] = array(bytes, field);
    u32::from_be_bytes([0, high, middle, low])
}

#[inline]
pub(crate) fn read_u32(bytes: &[u8], field: Range<usize>) -> u32 {
    u32::from_be_bytes(array(bytes, field))
}

#[inline]
pub(crate) fn read_u64(bytes: &[u8], field: Range<usize>) -> u64 {
    u64::from_be_bytes(array(bytes, field))
}

#[inline]
pub(crate) fn write_u16(bytes: &mut [u8], field: Range<usize>, value: u16) {
    bytes[field].copy_from_slice(&value.to_be_bytes());
}

/// Writes the low 24 bits of `value`.
#[inline]
pub(crate) fn write_u24(bytes: &mut [u8], field: Range<usize>, value: u32) {
    bytes[field].copy_from_slice(&value.to_be_bytes()[1..]);
}

#[inline]
pub(crate) fn write_u32(bytes: &mut [u8], field: Range<usize>, value: u32) {
    bytes[field].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn write_u64(bytes: &mut [u8], field: Range<usize>, value: u64) {
    bytes[field].copy_from_slice(&value.to_be_bytes());
}
