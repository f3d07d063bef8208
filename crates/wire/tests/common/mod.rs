//! What several tests need.

/// Bytes from hexadecimal digits; spaces are ignored.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| {
        let text: String = pair.iter().collect();
        u8::from_str_radix(&text, 16).expect("two hexadecimal digits")
    };
    digits.chunks(2).map(byte).collect()
}
