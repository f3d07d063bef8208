//! Queue pairs through their public interface, in virtual time, packet by packet.

mod errors;
mod hostile;
mod line;
mod selective;
mod verbs;
