//! Which addresses this process has devices at.

use std::net::IpAddr;

use fairlane_softnic::Interface;

use crate::prefix::Prefix;

/// The variable that names addresses.
const VARIABLE: &str = "FAIRLANE_ADDRESS";

/// An address, and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) address: IpAddr,
    pub(crate) interface: Interface,
    pub(crate) why: &'static str,
}

/// The addresses of this process's devices: those that the environment names, or a free one of each prefix there, else those of IPv4 of interfaces but loopback,
/// else those of loopback.
pub(crate) fn choose() -> Result<Vec<Choice>, String> {
    match std::env::var(VARIABLE) {
        Ok(named) => named.split(',').map(of_name).collect(),
        Err(_) => Ok(of_interfaces(Interface::all().unwrap_or_default())),
    }
}

fn of_name(text: &str) -> Result<Choice, String> {
    let mistake =
        |what| format!("{VARIABLE}: \"{text}\" {what}\nhint: `ip -brief address` lists addresses");
    let (address, why) = match Prefix::read(text.trim()) {
        Some(prefix) => {
            let free = prefix.take(std::process::id());
            let free = free.ok_or_else(|| mistake("has no free address of this machine"))?;
            (free, "it is a free one of FAIRLANE_ADDRESS")
        }
        None => {
            let named = text.trim().parse();
            let named = named.map_err(|_| mistake("is no IP address and no prefix"))?;
            (named, "FAIRLANE_ADDRESS says so")
        }
    };
    let interface = Interface::of(address).filter(|own| own.is_up);
    Ok(Choice {
        address,
        interface: interface.ok_or_else(|| mistake("is no address of an interface that is up"))?,
        why,
    })
}

fn of_interfaces(all: Vec<Interface>) -> Vec<Choice> {
    let usable = |own: &Interface| own.is_up && own.address.is_ipv4();
    let outside = all.iter().any(|own| usable(own) && !own.is_loopback);
    let (keep, why) = match outside {
        true => (false, "it is an address of an interface"),
        false => (true, "there is no interface but loopback"),
    };
    let kept = all
        .into_iter()
        .filter(|own| usable(own) && own.is_loopback == keep);
    let choice = |interface: Interface| Choice {
        address: interface.address,
        interface,
        why,
    };
    kept.map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(address: [u8; 4]) -> Interface {
        let address = IpAddr::from(address);
        let mut own = Interface::of([127, 0, 0, 1].into()).expect("a loopback interface");
        (own.address, own.is_loopback) = (address, address.is_loopback());
        own
    }

    #[test]
    fn loopback_serves_only_where_nothing_else_is() {
        let (lo, eth) = (interface([127, 0, 0, 1]), interface([10, 0, 0, 1]));
        let addresses = |all: Vec<Interface>| -> Vec<IpAddr> {
            of_interfaces(all)
                .iter()
                .map(|choice| choice.address)
                .collect()
        };
        assert_eq!(addresses(vec![eth.clone(), lo.clone()]), [eth.address]);
        assert_eq!(addresses(vec![lo.clone()]), [lo.address]);
    }

    #[test]
    fn a_wrong_address_has_a_hint() {
        for (text, says) in [
            ("nonsense", "is no IP address"),
            ("203.0.113.0/24", "has no free address"),
            ("192.0.2.7", "no address of an interface"),
        ] {
            let error = of_name(text).expect_err("it is wrong");
            assert!(error.contains(says) && error.contains("hint:"), "{error}");
        }
        assert_eq!(
            of_name(" 127.3.2.1 ").map(|choice| choice.interface.name),
            Ok("lo".to_owned())
        );
    }
}
