//! Whether a program listens for connections (proc(5)).

use std::collections::BTreeSet;
use std::fs;

/// The state of a TCP socket that listens, as `/proc/net/tcp` writes it.
const LISTENS: &str = "0A";

/// Whether a process of a group has a TCP socket that listens; what can't be read has none.
pub(super) fn listens(group: u32) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let listening: BTreeSet<u64> = tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines())
        .filter_map(listening_socket)
        .collect();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let members = processes.filter(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat"));
        stat.is_ok_and(|stat| group_of(&stat) == Some(group))
    });
    let mut sockets = members.flat_map(|entry| {
        let files = fs::read_dir(entry.path().join("fd"));
        let links = files.into_iter().flatten().flatten();
        links.filter_map(|file| socket(fs::read_link(file.path()).ok()?.to_str()?))
    });
    sockets.any(|socket| listening.contains(&socket))
}

/// The number of the socket in a line of the table, if it listens.
fn listening_socket(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    (*words.get(3)? == LISTENS).then_some(())?;
    words.get(9)?.parse().ok()
}

/// The process group in a line of `/proc/PID/stat`, in which a name in parentheses may contain anything.
fn group_of(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(2)?.parse().ok()
}

/// The number of the socket that an open file is.
fn socket(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_process_listens_as_long_as_it_has_a_socket_that_does() {
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let group = group_of(&own).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(listens(group));
        drop(listener);
        assert!(!listens(u32::MAX));
    }

    #[test]
    fn lines_of_proc_are_read() {
        assert_eq!(group_of("7 (a) b) S 1 42 42 0"), Some(42));
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 123456 1";
        assert_eq!(listening_socket(line), Some(123_456));
        assert_eq!(listening_socket(&line.replace("0A", "01")), None);
        assert_eq!(socket("socket:[99]"), Some(99));
        assert_eq!(socket("pipe:[99]"), None);
    }
}
