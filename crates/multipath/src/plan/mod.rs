//! Which queue pairs a connection opens: what each puts into its headers, so that the fabric takes another way.

mod file;

use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::settings::MOST_PATHS;
use crate::{Mistake, Settings};

pub use file::PortFile;

/// What tells one path of a connection from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The address that packets leave from: an alias of the port, with a GID of its own (S3, section 3.1).
    pub source: IpAddr,
    /// The UDP source port; `None` if the card may choose.
    pub port: Option<u16>,
}

/// How the paths of a connection are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPlan {
    /// Consecutive UDP source ports, which switches hash (S1).
    Ports {
        /// The first one; RoCE uses 49152 and above (IBTA annex A17).
        first: u16,
    },
    /// Source addresses, which switches route by (S3).
    Addresses(Vec<IpAddr>),
    /// What the user says.
    List(Vec<Selector>),
    /// Source ports by pair of hosts, from a file.
    File(PortFile),
}

impl PathPlan {
    /// The paths from one host to another: `count` of them, or all that the plan has. Ports have no number of
    /// their own: without `count` there are 4.
    ///
    /// # Errors
    /// If there is none, or fewer than `count`.
    pub fn resolve(
        &self,
        source: IpAddr,
        destination: IpAddr,
        count: Option<usize>,
    ) -> Result<Vec<Selector>, Mistake> {
        let wanted = count.unwrap_or(match self {
            Self::Ports { .. } => DEFAULT_PORTS,
            _ => MOST_PATHS,
        });
        Settings::default().validate(wanted)?;
        let by_port = |port| Selector {
            source,
            port: Some(port),
        };
        let found: Vec<Selector> = match self {
            Self::Ports { first } => (*first..=u16::MAX).take(wanted).map(by_port).collect(),
            Self::Addresses(addresses) => {
                let by_address = |&source| Selector { source, port: None };
                addresses.iter().take(wanted).map(by_address).collect()
            }
            Self::List(list) => list.iter().take(wanted).copied().collect(),
            Self::File(file) => {
                let ports = file.ports(source, destination)?;
                ports.iter().take(wanted).copied().map(by_port).collect()
            }
        };
        Settings::default().validate(found.len())?;
        if count.is_some_and(|count| count > found.len()) {
            return Err(Mistake::new(
                "multipath.paths",
                format!(
                    "{wanted} paths were asked for, the plan has {}",
                    found.len()
                ),
                "ask for fewer, or give the plan more ports or addresses",
            ));
        }
        distinct(&found)?;
        Ok(found)
    }
}

/// S1, section IV: from 2 to 5 queue pairs more bring little.
const DEFAULT_PORTS: usize = 4;

fn distinct(selectors: &[Selector]) -> Result<(), Mistake> {
    let mut sorted: Vec<_> = selectors.iter().map(|it| (it.source, it.port)).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let port = pair[0]
                .1
                .map_or_else(Default::default, |port| format!(" and port {port}"));
            Err(Mistake::new(
                "multipath.paths",
                format!("two paths have source {}{port}", pair[0].0),
                "name each once: packets with the same headers take the same way",
            ))
        }
    }
}
