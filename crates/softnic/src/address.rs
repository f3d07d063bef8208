//! Which addresses a process has devices at.

use std::net::IpAddr;

use crate::interface::Interface;
use crate::prefix::Prefix;

/// The variable that names addresses, separated by commas, and prefixes.
pub const VARIABLE: &str = "FAIRLANE_ADDRESS";

/// The address of a device, and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The address.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: Interface,
    /// Why it was taken.
    pub why: &'static str,
}

/// What the variable names in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    At(IpAddr),
    /// A prefix, of which each process takes a free address.
    Of(Prefix),
}

/// The addresses of this process's devices: those that the environment names, or a free one of each prefix there, else those of IPv4 of interfaces but loopback,
/// else those of loopback.
///
/// # Errors
/// What is wrong with the variable, and a hint.
pub fn choose() -> Result<Vec<Choice>, String> {
    match std::env::var(VARIABLE) {
        Ok(all) => all.split(',').map(take).collect(),
        Err(_) => Ok(of_interfaces(Interface::all().unwrap_or_default())),
    }
}

/// What [`choose`] finds if the variable has this value, without taking an address: a prefix stands for the addresses of
/// processes that will have the variable.
///
/// # Errors
/// What is wrong with the value, and a hint.
pub fn foresee(variable: Option<&str>) -> Result<Vec<Choice>, String> {
    let Some(all) = variable else {
        return Ok(of_interfaces(Interface::all().unwrap_or_default()));
    };
    let one = |text: &str| match named(text)? {
        Named::At(address) => at(text, address, "FAIRLANE_ADDRESS says so"),
        Named::Of(prefix) => at(
            text,
            prefix.first(),
            "it stands for those of FAIRLANE_ADDRESS",
        ),
    };
    all.split(',').map(one).collect()
}

fn mistake(text: &str, what: &str) -> String {
    format!("{VARIABLE}: \"{text}\" {what}\nhint: `ip -brief address` lists addresses")
}

fn named(text: &str) -> Result<Named, String> {
    if let Some(prefix) = Prefix::read(text.trim()) {
        return Ok(Named::Of(prefix));
    }
    let address = text.trim().parse();
    let address = address.map_err(|_| mistake(text, "is no IP address and no prefix"))?;
    Ok(Named::At(address))
}

fn at(text: &str, address: IpAddr, why: &'static str) -> Result<Choice, String> {
    let interface = Interface::of(address).filter(|own| own.is_up);
    Ok(Choice {
        address,
        interface: interface
            .ok_or_else(|| mistake(text, "is no address of an interface that is up"))?,
        why,
    })
}

fn take(text: &str) -> Result<Choice, String> {
    match named(text)? {
        Named::At(address) => at(text, address, "FAIRLANE_ADDRESS says so"),
        Named::Of(prefix) => {
            let free = prefix.take(std::process::id());
            let free = free.ok_or_else(|| mistake(text, "has no free address of this machine"))?;
            at(text, free, "it is a free one of FAIRLANE_ADDRESS")
        }
    }
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
            let error = take(text).expect_err("it is wrong");
            assert!(error.contains(says) && error.contains("hint:"), "{error}");
        }
        assert_eq!(
            take(" 127.3.2.1 ").map(|choice| choice.interface.name),
            Ok("lo".to_owned())
        );
    }
}
