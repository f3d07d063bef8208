//! ClassPortInfo, what a manager says of itself when it is asked (IBTA 13.4.8.1).
//!
//! | bytes | field |
//! |---|---|
//! | 0, 1 | base version, class version |
//! | 2, 3 | capabilities |
//! | 4 to 7 | more capabilities (27 bits), response time (5) |
//! | 8 to 71 | redirection and traps: none |

use crate::format::bytes::Writer;
use crate::format::header::{CLASS_VERSION, Header, LENGTH, Mad, Method};
use crate::format::wait::Wait;

/// The number of the attribute.
pub(crate) const ATTRIBUTE: u16 = 0x0001;

/// The answer to who asks in this transaction.
pub(crate) fn answer(transaction: u64, response_time: Wait) -> Mad {
    let header = Header {
        method: Method::GetResponse,
        transaction,
        attribute: ATTRIBUTE,
    };
    let mut mad = header.emit();
    let mut to = Writer::new(&mut mad[LENGTH..]);
    to.bytes(&[1, CLASS_VERSION, 0, 0]);
    to.u32(response_time.bits().into());
    mad
}
