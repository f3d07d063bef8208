//! Who a lab's programs are: their addresses, tenants and settings.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use fairlane_congestion::scope::Scope;
use fairlane_rings::Shared;
use fairlane_scenario::{Error, Lab, Notification, Scenario};
use fairlane_softnic::DetachedDevice;
use fairlane_units::{Duration, NodeId, TenantId};

use crate::address::Place;
use crate::partition;

/// What is known of a program beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) tenant: TenantId,
    /// Its number among what posts messages: behind workloads.
    pub(crate) workload: u32,
}

/// Programs by the addresses of their NICs.
#[derive(Debug)]
pub(crate) struct Roster {
    members: HashMap<Ipv4Addr, Member>,
    /// Who attaches without being one of them.
    other: Member,
    /// Settings of NICs by tenant.
    words: Vec<String>,
}

/// Where the NICs of a lab's programs are: those of a host in the order of the scenario.
///
/// # Errors
/// If a host has more programs than addresses, or no address.
pub fn places(lab: &Lab) -> Result<Vec<Place>, Error> {
    let mut counts: HashMap<u32, u8> = HashMap::new();
    let place = |(index, host): (usize, u32)| {
        let count = counts.entry(host).or_default();
        let place = Place {
            host: NodeId::new(host),
            plane: 0,
            program: *count,
        };
        *count = count.saturating_add(1);
        place.address().map(|_| place).ok_or_else(|| {
            let at = format!("lab.program[{index}].host");
            let message = format!("is {host}, which has no address for this program");
            let hint = "up to 30 programs of a host have one, and hosts below 65535";
            Error::new(at, message, hint)
        })
    };
    let hosts = lab.program.iter().map(|program| program.host);
    hosts.enumerate().map(place).collect()
}

impl Roster {
    /// Programs of a scenario on a fabric with this base round trip.
    ///
    /// # Errors
    /// As [`places`]; and if software NICs can't have the scenario's congestion control.
    pub(crate) fn new(scenario: &Scenario, base_rtt: Duration) -> Result<Self, Error> {
        check_telemetry(scenario)?;
        let tenants = scenario.tenants();
        let number = |name: Option<&str>| {
            let found = tenants
                .iter()
                .position(|tenant| name.is_none_or(|name| tenant.name == name));
            TenantId::new(found.unwrap_or(0) as u32)
        };
        let first = scenario.workload.len() as u32;
        let lab = scenario.lab.clone().unwrap_or_default();
        let programs = (first..).zip(&lab.program).zip(places(&lab)?);
        let members = programs.filter_map(|((workload, program), place)| {
            let tenant = number(program.tenant.as_deref());
            Some((place.address()?, Member { tenant, workload }))
        });
        let words =
            (0..tenants.len() as u32).map(|own| words(scenario, TenantId::new(own), base_rtt));
        Ok(Self {
            members: members.collect(),
            other: Member {
                tenant: number(None),
                workload: first + lab.program.len() as u32,
            },
            words: words.collect::<Result<_, _>>()?,
        })
    }

    /// Who has an address.
    pub(crate) fn member(&self, address: Ipv4Addr) -> Member {
        self.members.get(&address).copied().unwrap_or(self.other)
    }

    /// Settings of a member's NIC.
    pub(crate) fn words(&self, member: Member) -> &str {
        &self.words[member.tenant.index()]
    }
}

/// Refuses congestion control that needs telemetry where switches aren't made for packets with real headers of it.
pub(crate) fn check_telemetry(scenario: &Scenario) -> Result<(), Error> {
    let congestion = &scenario.congestion;
    let needs = congestion.scope != Scope::None && congestion.algorithm.needs().telemetry;
    let (stated, real) = (scenario.packet.telemetry, DetachedDevice::TELEMETRY);
    if !needs || stated >= real {
        return Ok(());
    }
    let message = format!(
        "is {stated}, expected at least {real} for software NICs, whose headers have whole records"
    );
    let hint = format!("add --set packet.telemetry={real}, also to runs that are compared with it");
    Err(Error::new("packet.telemetry", message, hint))
}

/// Settings of a tenant's NICs, in words of software NICs.
fn words(scenario: &Scenario, own: TenantId, base_rtt: Duration) -> Result<String, Error> {
    let congestion = &scenario.congestion;
    let algorithm = match congestion.scope {
        Scope::None => "fixed",
        _ => congestion.algorithm.name(),
    };
    let parameters = match congestion.scope {
        Scope::None => Vec::new(),
        _ => {
            let mut parameters = Vec::new();
            let mut writer = serde_json::Serializer::new(&mut parameters);
            let written = congestion.params().serialize(&mut writer);
            written.map_err(|error| Error::new("congestion", error.to_string(), "report it"))?;
            parameters
        }
    };
    let parameters = String::from_utf8_lossy(&parameters);
    let cnps = match congestion.notification {
        Notification::Cnp => congestion.cnp_interval.to_string(),
        Notification::Ack => "never".into(),
    };
    let mut words = format!(
        "congestion={algorithm}{parameters} cnp_interval={cnps} ack_interval={} scope={} dasr={} base_rtt={base_rtt}",
        scenario.transport.ack_interval, congestion.scope, congestion.dasr.mode
    );
    let tenants = scenario.tenants();
    if tenants.len() > 1 {
        let key = |number| partition::of(&tenants, number).get();
        let one = |(number, tenant): (u32, &fairlane_scenario::Tenant)| {
            let guarantee = tenant.guarantee.map(|rate| format!(":{rate}"));
            let guarantee = guarantee.unwrap_or_default();
            format!(
                "{}:{}{guarantee}",
                key(TenantId::new(number)),
                tenant.weight
            )
        };
        let all: Vec<String> = (0..).zip(&tenants).map(one).collect();
        words += &format!(" tenants={} partition={}", all.join(","), key(own));
    }
    if words.len() > Shared::MOST_TEXT {
        let message = format!(
            "{} tenants, of which NICs of programs can't be told",
            tenants.len()
        );
        return Err(Error::new("tenant", message, "state fewer of them"));
    }
    Ok(words)
}
