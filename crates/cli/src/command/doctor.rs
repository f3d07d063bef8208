//! `fairlane doctor`.

use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use fairlane_softnic::{Interface, Settings, is_free};
use fairlane_wire::Udp;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use super::exec::namespaces;
use crate::failure::Failure;
use crate::libraries;
use crate::print;
use fairlane_results::table;

mod holder;

/// How something that was looked at is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// Programs work with what was found, but worse.
    Worse,
    /// What was found stands in the way of programs.
    Bad,
}

/// Something that was looked at.
#[derive(Debug)]
struct Finding {
    what: String,
    found: String,
    verdict: Verdict,
    /// What may help.
    hint: Option<&'static str>,
}

impl Finding {
    fn new(what: impl Into<String>, found: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            what: what.into(),
            found: found.into(),
            verdict,
            hint: None,
        }
    }

    fn hint(mut self, text: &'static str) -> Self {
        self.hint = (self.verdict != Verdict::Good).then_some(text);
        self
    }
}

/// Prints what a program would find.
pub(crate) fn doctor() -> Result<ExitCode, Failure> {
    let mut findings = libraries();
    findings.extend(addresses());
    findings.extend([folders(), segmentation(), coalescing(), buffer()]);
    let verdict = |verdict| match verdict {
        Verdict::Good => "ok",
        Verdict::Worse => "worse",
        Verdict::Bad => "bad",
    };
    print::text(&table::columns_of(
        &findings,
        &[
            ("", &|own| own.what.clone()),
            ("found", &|own| own.found.clone()),
            ("verdict", &|own| verdict(own.verdict).to_owned()),
        ],
    ))?;
    for (what, hint) in findings
        .iter()
        .filter_map(|own| Some((&own.what, own.hint?)))
    {
        print::say(format_args!("hint: {what}: {hint}"));
    }
    let bad = findings.iter().any(|own| own.verdict == Verdict::Bad);
    Ok(ExitCode::from(u8::from(bad)))
}

fn libraries() -> Vec<Finding> {
    let folder = libraries::folder();
    let one = |name: &str, without: Verdict| {
        let path = folder.join(name);
        let (found, verdict) = match path.exists() {
            true => (path.display().to_string(), Verdict::Good),
            false => (format!("not in {}", folder.display()), without),
        };
        Finding::new(name, found, verdict).hint(libraries::HINT)
    };
    vec![
        one(libraries::VERBS, Verdict::Bad),
        one(libraries::MANAGER, Verdict::Worse),
    ]
}

/// How programs under `fairlane exec` find the folders of devices.
fn folders() -> Finding {
    let (found, verdict) = match namespaces() {
        Ok(()) => ("by a mount namespace".to_owned(), Verdict::Good),
        Err(why) => (format!("by LD_PRELOAD ({why})"), Verdict::Worse),
    };
    Finding::new("/sys/class/infiniband, /dev/infiniband", found, verdict)
        .hint("statically linked programs and some shells' patterns don't find them this way")
}

/// Addresses that devices can have. That one is taken doesn't matter as long as another is free.
fn addresses() -> Vec<Finding> {
    let all = Interface::all().unwrap_or_default();
    let usable =
        |own: &&Interface| own.is_up && (own.address.is_ipv4() || !is_link_local(own.address));
    let mut findings: Vec<Finding> = all.iter().filter(usable).map(address).collect();
    let any = findings.iter().any(|own| own.verdict == Verdict::Good);
    if !any {
        let none = Finding::new("addresses", "none that is free", Verdict::Bad);
        findings.push(none.hint("`ip link set lo up` gives each program one of 127.0.0.0/8"));
    }
    findings
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(own) if own.is_unicast_link_local())
}

fn address(own: &Interface) -> Finding {
    let mtu = own
        .mtu()
        .map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
    let place = format!("{}{mtu}", own.name);
    let what = own.address.to_string();
    if is_free(own.address) {
        let others = if own.is_loopback && own.address.is_ipv4() {
            ", as others of its network"
        } else {
            ""
        };
        return Finding::new(
            what,
            format!("{place}, port {} is free{others}", Udp::ROCE_PORT),
            Verdict::Good,
        );
    }
    let holder = holder::of(own.address, Udp::ROCE_PORT);
    let holder = holder.map_or_else(
        || "somebody".to_owned(),
        |(process, name)| format!("process {process} ({name})"),
    );
    Finding::new(
        what,
        format!("{place}, {holder} has port {}", Udp::ROCE_PORT),
        Verdict::Worse,
    )
    .hint("a program needs an address of its own, such as `fairlane exec` finds")
}

/// A socket that something is tried with.
fn try_option(set: impl FnOnce(&std::os::fd::OwnedFd) -> nix::Result<()>) -> bool {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    socket.is_ok_and(|socket| set(&socket).is_ok())
}

fn yes_or_no(what: &str, works: bool) -> Finding {
    let (found, verdict) = match works {
        true => ("the kernel can", Verdict::Good),
        false => ("the kernel can't", Verdict::Worse),
    };
    Finding::new(what, found, verdict)
        .hint("Linux 5.0 and later can; without, throughput is a fifth")
}

fn segmentation() -> Finding {
    let works = try_option(|socket| setsockopt(socket, sockopt::UdpGsoSegment, &1024));
    yes_or_no("several packets sent in one call (UDP_SEGMENT)", works)
}

fn coalescing() -> Finding {
    let works = try_option(|socket| setsockopt(socket, sockopt::UdpGroSegment, &true));
    yes_or_no("several packets received in one call (UDP_GRO)", works)
}

fn buffer() -> Finding {
    let wanted = Settings::new(IpAddr::from([127, 0, 0, 1]))
        .receive_buffer
        .get();
    let text = std::fs::read_to_string(Path::new("/proc/sys/net/core/rmem_max"));
    let most: Option<u64> = text.ok().and_then(|text| text.trim().parse().ok());
    let (found, verdict) = match most {
        Some(most) if most >= wanted => (format!("up to {most} bytes"), Verdict::Good),
        Some(most) => (
            format!("up to {most} bytes, {wanted} would be better"),
            Verdict::Worse,
        ),
        None => ("unknown".to_owned(), Verdict::Worse),
    };
    Finding::new("receive buffers (net.core.rmem_max)", found, verdict)
        .hint("`sysctl -w net.core.rmem_max=4194304` lets more be under way")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that another test is starting has all sockets of this one until it is another program.
    fn eventually<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        (0..20).find_map(|_| {
            let found = attempt();
            if found.is_none() {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            found
        })
    }

    #[test]
    fn loopback_is_usable_and_a_taken_port_has_a_holder() {
        let own = Interface::of(IpAddr::from([127, 76, 255, 254])).expect("loopback is up");
        let own = Interface {
            address: IpAddr::from([127, 76, 255, 254]),
            ..own
        };
        assert!(eventually(|| (address(&own).verdict == Verdict::Good).then_some(())).is_some());
        let held = eventually(|| std::net::UdpSocket::bind((own.address, Udp::ROCE_PORT)).ok());
        let held = held.expect("it is free");
        let taken = address(&own);
        let me = format!("process {}", std::process::id());
        assert!(
            taken.verdict == Verdict::Worse && taken.found.contains(&me),
            "{taken:?}"
        );
        drop(held);
    }
}
