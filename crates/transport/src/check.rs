//! What may be posted.

use fairlane_units::Bytes;

use crate::config::{Config, Service};
use crate::out_of_order::packets;
use crate::responder::answer::{LONGEST, WIDEST};
use crate::work::{Operation, PostError, WorkRequest};

impl WorkRequest {
    /// Refuses what the service or the protocol doesn't have.
    ///
    /// # Errors
    /// If the service has no such operation, or length or address aren't such as it has.
    pub fn check(&self, config: &Config) -> Result<(), PostError> {
        let operation = &self.operation;
        let known = match config.service {
            Service::ReliableConnection => !matches!(operation, Operation::Datagram { .. }),
            Service::UnreliableConnection => matches!(
                operation,
                Operation::Send
                    | Operation::SendImmediate(_)
                    | Operation::Write(_)
                    | Operation::WriteImmediate(..)
            ),
            Service::UnreliableDatagram => matches!(operation, Operation::Datagram { .. }),
        };
        if !known || (operation.awaits_response() && config.max_reads == 0) {
            return Err(PostError::Operation);
        }
        let fits = match operation {
            Operation::FetchAdd { remote, .. } | Operation::CompareSwap { remote, .. } => {
                if !remote.address.is_multiple_of(8) {
                    return Err(PostError::Alignment);
                }
                self.length == Bytes::new(8)
            }
            Operation::Datagram { .. } => self.length <= config.mtu,
            Operation::Read(_) => {
                self.length <= LONGEST && packets(self.length, config.mtu) <= WIDEST
            }
            _ => self.length <= LONGEST,
        };
        if fits { Ok(()) } else { Err(PostError::Length) }
    }
}
