//! What an arbiter promises, by random work in virtual time.

mod arbiter;
