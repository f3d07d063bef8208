//! Real programs at hosts, for `fairlane lab`.

use std::collections::BTreeMap;

use fairlane_units::Duration;

use crate::section::{element, section, words};

section! {
    /// Real programs at hosts, for `fairlane lab`.
    Lab {
        /// How much slower than real time the fabric goes; `"auto"`: so much that it keeps up with programs at its hosts.
        #[serde(with = "crate::optional::auto")]
        #[schemars(schema_with = "crate::optional::auto::schema")]
        scale [1.0, 1e6]: Option<f64>,
        /// Programs that are started.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        program: Vec<LabProgram> => table,
        /// What happens to programs on purpose.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        fault: Vec<LabFault> => table,
    }
}

element! {
    /// A program that runs at a host.
    #[derive(Eq)]
    LabProgram {
        /// Name, unique; a letter, then up to 39 letters, digits, `-`, `_` and `.`.
        name: String,
        /// The host, by node.
        host: u32,
        /// Program and arguments. In these `{address:NAME}` is the address of another program's NIC.
        command: Vec<String>,
        /// Not before this: a time of the real clock since the beginning, such as `"2s"`; or the name of an earlier program, which must
        /// have begun to listen (TCP), have run for a second, or have ended.
        after: Option<String>,
        /// Environment variables.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String> = "BTreeMap::<String, String>::new",
        /// Whether the lab ends without waiting for it: a server that goes on for ever.
        background: bool = "bool::default",
        /// Tenant that its work requests belong to; left out, the first.
        tenant: Option<String>,
    }
}

element! {
    /// What happens to a program on purpose.
    #[derive(Eq)]
    LabFault {
        /// The program, by name. If it doesn't run then, nothing happens.
        program: String,
        /// When, in the fabric's time.
        at: Duration => span,
        /// What.
        action: LabAction,
    }
}

words! {
    /// What happens to a program.
    LabAction = Kill {
        /// It ends at once (SIGKILL).
        Kill "kill",
        /// It stands still (SIGSTOP): its NIC falls silent.
        Stop "stop",
        /// It goes on (SIGCONT).
        Continue "continue",
    }
}

impl LabProgram {
    /// How long after the beginning it may start, if `after` says a time.
    pub fn delay(&self) -> Option<Duration> {
        self.after.as_deref()?.parse().ok()
    }

    /// Its arguments with the addresses that `address` has for names.
    ///
    /// # Errors
    /// The first name of which it has none.
    pub fn command_with(
        &self,
        address: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, String> {
        let fill = |argument: &String| fill(argument, &address);
        self.command.iter().map(fill).collect()
    }
}

/// What an argument is with addresses in place of names.
fn fill(argument: &str, address: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    const BEGINS: &str = "{address:";
    let (mut filled, mut rest) = (String::new(), argument);
    while let Some((before, behind)) = rest.split_once(BEGINS) {
        let Some((name, behind)) = behind.split_once('}') else {
            break;
        };
        filled.push_str(before);
        filled.push_str(&address(name).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_arguments_become_addresses() {
        let address = |name: &str| (name == "server").then(|| "127.1.0.1".to_owned());
        let fill = |text| fill(text, address);
        assert_eq!(
            fill("{address:server}:80 {address:server}"),
            Ok("127.1.0.1:80 127.1.0.1".into())
        );
        assert_eq!(fill("-a{address:"), Ok("-a{address:".into()));
        assert_eq!(fill("{x}"), Ok("{x}".into()));
        assert_eq!(fill("{address:nobody}"), Err("nobody".into()));
    }
}
