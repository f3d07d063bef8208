//! Reads pcapng files, as far as ours go.

/// A packet of a capture.
pub(crate) struct Captured {
    /// Name of its interface.
    pub(crate) interface: String,
    /// When, in nanoseconds.
    pub(crate) time_ns: u64,
    /// Whether the interface sent it.
    pub(crate) outbound: bool,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

/// The packets of a file and the names of its interfaces.
pub(crate) fn read(mut file: &[u8]) -> (Vec<Captured>, Vec<String>) {
    let (mut packets, mut interfaces) = (Vec::new(), Vec::new());
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert_eq!(word(file, length - 4) as usize, length);
        let (kind, body) = (word(file, 0), &file[8..length - 4]);
        match kind {
            0x0a0d_0d0a => assert_eq!(word(body, 0), 0x1a2b_3c4d),
            1 => {
                let name = option(&body[8..], 2).expect("interfaces have names");
                interfaces.push(String::from_utf8(name).expect("in UTF-8"));
            }
            6 => packets.push(packet(body, &interfaces)),
            other => panic!("no block of type {other} is expected"),
        }
        file = &file[length..];
    }
    (packets, interfaces)
}

fn packet(body: &[u8], interfaces: &[String]) -> Captured {
    let length = word(body, 12) as usize;
    assert_eq!(word(body, 16) as usize, length);
    let options = &body[20 + length.next_multiple_of(4)..];
    let flags = option(options, 2).expect("packets have flags");
    Captured {
        interface: interfaces[word(body, 0) as usize].clone(),
        time_ns: u64::from(word(body, 4)) << 32 | u64::from(word(body, 8)),
        outbound: match word(&flags, 0) {
            1 => false,
            2 => true,
            other => panic!("direction {other}"),
        },
        bytes: body[20..20 + length].to_vec(),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The value of an option.
fn option(mut options: &[u8], wanted: u32) -> Option<Vec<u8>> {
    loop {
        let (code, length) = (word(options, 0) & 0xffff, word(options, 0) >> 16);
        let value = options[4..4 + length as usize].to_vec();
        match code {
            0 => return None,
            code if code == wanted => return Some(value),
            _ => options = &options[4 + length.next_multiple_of(4) as usize..],
        }
    }
}
