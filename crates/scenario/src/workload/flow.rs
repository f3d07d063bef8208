//! A message of a list.

use fairlane_hpcc_files::flows::Message;
use fairlane_units::{Bytes, Duration};

use crate::optional::is_one;
use crate::section::{element, number};

element! {
    /// One message.
    #[derive(Eq)]
    Flow {
        /// Sender.
        source: u32,
        /// Receiver.
        destination: u32,
        /// Bytes of payload.
        size: Bytes => message,
        /// When it is posted.
        start: Duration = "Duration::default" => span,
        /// Traffic class.
        class: u8 = "number::<3, u8>" => class,
        /// Label that stays with the message.
        destination_port: u16 = "number::<100, u16>",
        /// Equal parts, each on its own queue pair, that scopes treat as one message; not together with `paths`.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(extend("default" = 1))]
        subflows [1, 1024]: u32 = "number::<1, u32>",
    }
}

impl From<Message> for Flow {
    fn from(message: Message) -> Self {
        Self {
            source: message.source,
            destination: message.destination,
            size: message.size,
            start: message.start,
            class: message.class,
            destination_port: message.destination_port,
            subflows: 1,
        }
    }
}
