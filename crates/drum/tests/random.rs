//! Random networks, by the generator of `fairlane-drum-file`: a crate that uses this one, so that its tests can't use it.

#[path = "../../drum-file/src/random/draws.rs"]
mod draws;
#[path = "../../drum-file/src/random/network.rs"]
#[allow(dead_code, unreachable_pub, reason = "others use the rest of it")]
mod network;

pub(crate) use self::network::RandomNetwork;
