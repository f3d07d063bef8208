//! Capture points as text.

use crate::error::{Error, mistake};
use crate::types::CapturePoint;
use fairlane_hpcc_files::lines::shorten;

/// The ports that a [`CapturePoint`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturePorts {
    /// Whether the node is said to be a switch; else it is said to be a host.
    pub on_switch: bool,
    /// The node.
    pub node: u32,
    /// Number of the port at the node, from 1; `None` for all of them.
    pub port: Option<u32>,
}

impl CapturePorts {
    /// Whether port `number` of `node` is one of them.
    pub fn contains(&self, node: u32, number: u32) -> bool {
        self.node == node && self.port.is_none_or(|port| port == number)
    }
}

impl CapturePoint {
    /// The ports that the text names.
    ///
    /// # Errors
    /// A text that names none; the place is the text.
    pub fn ports(&self) -> Result<CapturePorts, Error> {
        parse(&self.0).ok_or_else(|| {
            mistake!(format!("capture \"{}\"", shorten(&self.0)),
                "names no port, expected host:N or switch:N, or one of these and /port:P";
                "write \"host:3\", \"switch:7\" or \"switch:7/port:2\"")
        })
    }
}

fn parse(text: &str) -> Option<CapturePorts> {
    let (node, port) = match text.split_once('/') {
        Some((node, port)) => (node, Some(number(port.strip_prefix("port:")?)?)),
        None => (text, None),
    };
    let (kind, node) = node.split_once(':')?;
    let on_switch = match kind {
        "host" => false,
        "switch" => true,
        _ => return None,
    };
    Some(CapturePorts {
        on_switch,
        node: number(node)?,
        port,
    })
}

/// Digits only: no sign, no blanks.
pub(crate) fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}
