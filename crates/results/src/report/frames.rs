//! Bytes that describe what ports did, small enough to travel inside the page.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding (RFC 4648, section 4).
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let six = (group >> (18 - 6 * place)) as usize & 63;
            text.push(if place > chunk.len() {
                '='
            } else {
                char::from(ALPHABET[six])
            });
        }
    }
    text
}

/// A share of 0 to 1 as 0 to 255; anything above 0 is at least 1.
pub(super) fn share_code(share: f64) -> u8 {
    if share <= 0.0 {
        0
    } else {
        (share * 255.0).round().clamp(1.0, 255.0) as u8
    }
}

/// A logarithmic scale for codes 1 to 255; code 0 is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogScale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl LogScale {
    /// The scale up to `high`, from a thousandth of it but at least 64.
    pub(super) fn up_to(high: u64) -> Self {
        let high = (high as f64).max(128.0);
        Self {
            low: (high / 1000.0).max(64.0),
            high,
        }
    }

    /// The nearest code; values below the scale get its lowest code.
    pub(super) fn code(self, value: u64) -> u8 {
        if value == 0 {
            return 0;
        }
        let place = (value as f64 / self.low).ln() / (self.high / self.low).ln();
        (1.0 + place * 254.0).round().clamp(1.0, 255.0) as u8
    }
}
