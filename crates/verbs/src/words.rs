//! Words: what is said on standard error, and names of what verbs number.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write as _;

use crate::guard::entry;

/// Says a line that somebody must hear.
pub(crate) fn say(line: &str) {
    // Nobody is told that standard error is closed.
    let _ = writeln!(std::io::stderr(), "fairlane: {line}");
}

/// Says a line, unless the user wants quiet (`FAIRLANE_QUIET`).
pub(crate) fn note(line: &str) {
    if std::env::var_os("FAIRLANE_QUIET").is_none() {
        say(line);
    }
}

/// The text with a number, or what is said of others.
fn text(all: &[&'static CStr], number: c_int, otherwise: &'static CStr) -> *const c_char {
    let known = usize::try_from(number).ok().and_then(|at| all.get(at));
    known.unwrap_or(&otherwise).as_ptr()
}

const NODES: [&CStr; 8] = [
    c"unknown",
    c"InfiniBand channel adapter",
    c"InfiniBand switch",
    c"InfiniBand router",
    c"iWARP NIC",
    c"usNIC",
    c"usNIC UDP",
    c"unspecified",
];

const PORTS: [&CStr; 6] = [
    c"no state change (NOP)",
    c"down",
    c"init",
    c"armed",
    c"active",
    c"active defer",
];

const EVENTS: [&CStr; 20] = [
    c"CQ error",
    c"local work queue catastrophic error",
    c"invalid request local work queue error",
    c"local access violation work queue error",
    c"communication established",
    c"send queue drained",
    c"path migrated",
    c"path migration request error",
    c"local catastrophic error",
    c"port active",
    c"port error",
    c"LID change",
    c"P_Key change",
    c"SM change",
    c"SRQ catastrophic error",
    c"SRQ limit reached",
    c"last WQE reached",
    c"client reregistration",
    c"GID table change",
    c"WQ fatal",
];

const STATUSES: [&CStr; 24] = [
    c"success",
    c"local length error",
    c"local QP operation error",
    c"local EE context operation error",
    c"local protection error",
    c"Work Request Flushed Error",
    c"memory management operation error",
    c"bad response error",
    c"local access error",
    c"remote invalid request error",
    c"remote access error",
    c"remote operation error",
    c"transport retry counter exceeded",
    c"RNR retry counter exceeded",
    c"local RDD violation error",
    c"remote invalid RD request",
    c"aborted error",
    c"invalid EE context number",
    c"invalid EE context state",
    c"fatal error",
    c"response timeout error",
    c"general error",
    c"tag matching error",
    c"tag matching rendezvous incomplete",
];

entry! {
    fn ibv_node_type_str(node: c_int) -> *const c_char {
        Ok(text(&NODES, node, c"unknown"))
    }

    fn ibv_port_state_str(state: c_int) -> *const c_char {
        Ok(text(&PORTS, state, c"unknown"))
    }

    fn ibv_event_type_str(event: c_int) -> *const c_char {
        Ok(text(&EVENTS, event, c"unknown"))
    }

    fn ibv_wc_status_str(status: c_int) -> *const c_char {
        Ok(text(&STATUSES, status, c"unknown"))
    }

    fn ibv_rate_to_mult(rate: c_int) -> c_int {
        let known = RATES.iter().find(|(own, _)| *own == rate);
        Ok(known.filter(|(_, mbps)| mbps % 2500 == 0).map_or(-1, |(_, mbps)| mbps / 2500))
    }

    fn mult_to_ibv_rate(multiple: c_int) -> c_int {
        let known = RATES.iter().find(|(_, mbps)| *mbps == multiple.wrapping_mul(2500));
        Ok(known.map_or(0, |(rate, _)| *rate))
    }

    fn ibv_rate_to_mbps(rate: c_int) -> c_int {
        let known = RATES.iter().find(|(own, _)| *own == rate);
        Ok(known.map_or(-1, |(_, mbps)| *mbps))
    }

    fn mbps_to_ibv_rate(rate: c_int) -> c_int {
        let known = RATES.iter().find(|(_, mbps)| *mbps == rate);
        Ok(known.map_or(0, |(own, _)| *own))
    }
}

/// `enum ibv_rate` with megabits per second.
const RATES: [(c_int, c_int); 23] = [
    (2, 2500),
    (5, 5000),
    (3, 10_000),
    (6, 20_000),
    (4, 30_000),
    (7, 40_000),
    (8, 60_000),
    (9, 80_000),
    (10, 120_000),
    (11, 14_062),
    (12, 56_250),
    (13, 112_500),
    (14, 168_750),
    (15, 25_781),
    (16, 103_125),
    (17, 206_250),
    (18, 309_375),
    (19, 28_125),
    (20, 53_125),
    (21, 425_000),
    (22, 637_500),
    (23, 850_000),
    (24, 1_275_000),
];
