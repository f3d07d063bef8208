//! Networks without a simulator: a driver opens flows, hands in packets and is handed what arrives.

mod drive;
mod driver;
