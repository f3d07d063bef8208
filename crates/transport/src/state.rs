//! The states of a queue pair (IBTA 10.3.1, figure 124).
//!
//! ```text
//! RESET -> INIT -> RTR -> RTS <-> SQD          any but RESET -> ERR
//!                         RTS  -> SQE -> RTS   any           -> RESET
//! ```
//!
//! The table is the one that the verbs check: RESET can't be made ERR.

use core::fmt;

/// State of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Newly made: nothing can be posted.
    #[default]
    Reset,
    /// Receives can be posted.
    Init,
    /// Ready to receive: packets are taken and answered.
    ReadyToReceive,
    /// Ready to send: everything works.
    ReadyToSend,
    /// Send queue drain: what has begun ends, nothing else begins.
    SendQueueDrain,
    /// Send queue error: an unreliable queue pair still receives.
    SendQueueError,
    /// Everything posted ends as flushed.
    Error,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Reset,
        Self::Init,
        Self::ReadyToReceive,
        Self::ReadyToSend,
        Self::SendQueueDrain,
        Self::SendQueueError,
        Self::Error,
    ];

    /// The name that the specification uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::ReadyToReceive => "RTR",
            Self::ReadyToSend => "RTS",
            Self::SendQueueDrain => "SQD",
            Self::SendQueueError => "SQE",
            Self::Error => "ERR",
        }
    }

    /// Whether a queue pair may be modified from this state to `to`. SQE is only entered by itself.
    pub const fn may_become(self, to: Self) -> bool {
        use State::*;
        match to {
            Reset => true,
            Init => matches!(self, Reset | Init),
            ReadyToReceive => matches!(self, Init),
            ReadyToSend => matches!(
                self,
                ReadyToReceive | ReadyToSend | SendQueueDrain | SendQueueError
            ),
            SendQueueDrain => matches!(self, ReadyToSend | SendQueueDrain),
            SendQueueError => false,
            Error => !matches!(self, Reset),
        }
    }

    /// Whether receives may be posted; in ERR they end as flushed.
    pub const fn takes_receives(self) -> bool {
        !matches!(self, Self::Reset)
    }

    /// Whether work requests may be posted; in SQE and ERR they end as flushed.
    pub const fn takes_requests(self) -> bool {
        !matches!(self, Self::Reset | Self::Init | Self::ReadyToReceive)
    }

    /// Whether packets that arrive are looked at.
    #[inline]
    pub const fn hears(self) -> bool {
        !matches!(self, Self::Reset | Self::Init | Self::Error)
    }

    /// Whether work requests become packets.
    #[inline]
    pub const fn sends(self) -> bool {
        matches!(self, Self::ReadyToSend | Self::SendQueueDrain)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A queue pair can't go from one state to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTransition {
    /// The state it is in.
    pub from: State,
    /// The state asked for.
    pub to: State,
}

impl fmt::Display for InvalidTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(
            f,
            "a queue pair in state {from} can't become {to}; possible:"
        )?;
        State::ALL
            .iter()
            .filter(|&&state| from.may_become(state))
            .try_for_each(|state| write!(f, " {state}"))
    }
}

impl core::error::Error for InvalidTransition {}
