//! Who has a UDP port, as far as the system lets us see.

use std::fs;
use std::net::IpAddr;

/// The process that has a port of an address, with its name.
pub(super) fn of(address: IpAddr, port: u16) -> Option<(u32, String)> {
    let inode = inode(address, port)?;
    let link = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?;
    let mut numbers =
        processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let number = numbers.find(|number| has(*number, &link))?;
    let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    Some((number, name.trim().to_owned()))
}

/// Whether a process has a descriptor that leads to a socket.
fn has(process: u32, link: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    let mut links = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.any(|own| own.as_os_str() == link)
}

/// The number of the socket that is bound to a port of an address, or to the port of all.
fn inode(address: IpAddr, port: u16) -> Option<String> {
    let (file, own, any) = match address {
        IpAddr::V4(own) => ("/proc/net/udp", words(&own.octets()), words(&[0; 4])),
        IpAddr::V6(own) => ("/proc/net/udp6", words(&own.octets()), words(&[0; 16])),
    };
    let table = fs::read_to_string(file).ok()?;
    let wanted = [own, any].map(|address| format!("{address}:{port:04X}"));
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let bound = wanted
            .iter()
            .any(|wanted| fields.get(1) == Some(&wanted.as_str()));
        fields
            .get(9)
            .filter(|_| bound)
            .map(|inode| (*inode).to_owned())
    })
}

/// An address as the kernel prints it: words of four bytes in the order of the processor.
fn words(bytes: &[u8]) -> String {
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes
        .chunks_exact(4)
        .map(|bytes| format!("{:08X}", word(bytes)))
        .collect()
}
