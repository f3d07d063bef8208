//! The file `srcIP,dstIP=port,port,...` that HCCL reads (`MultiQpSrcPort.cfg`).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Mistake;

/// Most ports of a line, as HCCL has it.
const MOST_PORTS: usize = 32;
/// Most lines of a file, as HCCL has it.
const MOST_LINES: usize = 131_072;
/// The place of a mistake that isn't in a line.
const FORM: &str = "write `10.0.0.1,10.0.0.2=49152,49153`; 0.0.0.0 stands for every address";

/// Source ports by source and destination.
///
/// Among several lines that fit, one that names both ends wins, then one that names the source, then one that
/// names the destination, then the one for all. `0.0.0.0` (`::` for version 6) stands for every address. Lines
/// that begin with `#` and empty ones say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFile {
    name: String,
    lines: BTreeMap<(Option<IpAddr>, Option<IpAddr>), Vec<u16>>,
}

impl PortFile {
    /// Reads a file; `name` stands in the place of mistakes.
    ///
    /// # Errors
    /// The first line that isn't as it should be.
    pub fn parse(text: &str, name: &str) -> Result<Self, Mistake> {
        let mut file = Self {
            name: name.into(),
            lines: BTreeMap::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            let complain = |message: String, hint: &str| {
                Err(Mistake::new(format!("{name}:{number}"), message, hint))
            };
            if number > MOST_LINES {
                let message = format!("there are more than {MOST_LINES} lines");
                return complain(message, "one line with 0.0.0.0 serves many hosts");
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (ends, ports) = match read(line) {
                Ok(read) => read,
                Err((message, hint)) => return complain(message, hint),
            };
            if file.lines.insert(ends, ports).is_some() {
                let message = "an earlier line names the same two addresses".into();
                return complain(message, "put all ports into one line");
            }
        }
        Ok(file)
    }

    /// The ports from one host to another.
    ///
    /// # Errors
    /// If no line fits.
    pub fn ports(&self, source: IpAddr, destination: IpAddr) -> Result<&[u16], Mistake> {
        let (from, to) = (Some(source), Some(destination));
        let kinds = [(from, to), (from, None), (None, to), (None, None)];
        let found = kinds.iter().find_map(|ends| self.lines.get(ends));
        found.map(Vec::as_slice).ok_or_else(|| {
            Mistake::new(
                self.name.as_str(),
                format!("no line fits {source},{destination}"),
                "add one, or one for all others: 0.0.0.0,0.0.0.0=49152,49153",
            )
        })
    }

    /// How many lines say something.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

type Ends = (Option<IpAddr>, Option<IpAddr>);
type Complaint = (String, &'static str);

fn read(line: &str) -> Result<(Ends, Vec<u16>), Complaint> {
    let fail = |message: &str| (String::from(message), FORM);
    let (ends, ports) = line
        .split_once('=')
        .ok_or_else(|| fail("there is no `=` between addresses and ports"))?;
    let (source, destination) = ends
        .split_once(',')
        .ok_or_else(|| fail("there is no `,` between the two addresses"))?;
    let (from, from_all) = address(source)?;
    let (to, to_all) = address(destination)?;
    if from.is_ipv4() != to.is_ipv4() {
        return Err(fail("one address is of version 4, the other of version 6"));
    }
    let ports = ports.split(',').map(port).collect::<Result<Vec<_>, _>>()?;
    if ports.len() > MOST_PORTS {
        let message = format!("{} ports; at most {MOST_PORTS} were expected", ports.len());
        return Err((message, "8 queue pairs are enough for most fabrics"));
    }
    let mut sorted = ports.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let hint = "name each once: packets with the same headers take the same way";
        return Err((format!("port {} is named twice", twice[0]), hint));
    }
    let end = |address, is_all: bool| (!is_all).then_some(address);
    Ok(((end(from, from_all), end(to, to_all)), ports))
}

/// An address, and whether it stands for all.
fn address(text: &str) -> Result<(IpAddr, bool), Complaint> {
    let text = text.trim();
    let address: IpAddr = text
        .parse()
        .map_err(|_| (format!("\"{}\" is no IP address", clipped(text)), FORM))?;
    let all = [
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    ];
    Ok((address, all.contains(&address)))
}

fn port(text: &str) -> Result<u16, Complaint> {
    let text = text.trim();
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|digit| digit.is_ascii_digit()) => Ok(port),
        _ => Err((
            format!("\"{}\" is no port; 1 to 65535 was expected", clipped(text)),
            "RoCE uses 49152 to 65535",
        )),
    }
}

/// The beginning of a text that may be long.
fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}
