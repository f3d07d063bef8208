//! Numbers of queue pairs: 8 bits of the process, 16 of the queue pair.

use fairlane_units::QpNumber;

/// The number of the queue pair for management datagrams (IBTA 13.5.1), of every device.
pub(crate) const MANAGEMENT: QpNumber = QpNumber::new(1);

/// Queue pairs that a process may have; the first two numbers of slot 0 are those of management.
pub(crate) const MOST: usize = (1 << 16) - RESERVED as usize;

const RESERVED: u32 = 2;
const INDEX_BITS: u32 = 16;

/// The number of the queue pair in slot `index` of a process.
pub(crate) const fn of(process: u8, index: u32) -> QpNumber {
    QpNumber::new((process as u32) << INDEX_BITS | (index + RESERVED))
}

/// The slot of a queue pair of a process; `None` for those of others.
#[inline]
pub(crate) const fn index(process: u8, number: QpNumber) -> Option<u32> {
    let number = number.get();
    if number >> INDEX_BITS != process as u32 {
        return None;
    }
    (number & ((1 << INDEX_BITS) - 1)).checked_sub(RESERVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_carved_by_process() {
        assert_eq!(of(0, 0).get(), 2);
        assert_eq!(of(255, MOST as u32 - 1).get(), 0xff_ffff);
        assert_eq!(index(3, of(3, 77)), Some(77));
        assert_eq!(index(4, of(3, 77)), None);
        assert_eq!(index(0, QpNumber::new(1)), None);
    }
}
