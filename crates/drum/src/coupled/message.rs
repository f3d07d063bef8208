//! The network's solver as messages: what agents and their coordinator say, and the agent's side.

use alloc::vec::Vec;

use crate::coupled::agent::{Curve, Desk, Held, carry_out};
use crate::coupled::order::{Curvature, Order, Repair, Sums};
use crate::coupled::problem::{Flows, Rows};
use crate::coupled::selection::{Choice, Selection};
use crate::coupled::solve::check_alpha;
use crate::error::Error;
use crate::host::Utility;

/// What an agent and the coordinator say to each other. Lists have an entry for each row that the agent
/// uses, in the order in which it named them when it joined.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// An agent takes part from the next order on. Saying it again asks for the order under way.
    Join {
        /// Rows that its flows use, ascending.
        rows: Vec<u32>,
    },
    /// An agent takes part no longer.
    Leave,
    /// What an agent is to do.
    Order {
        /// Number of the order; each new one has a larger number.
        number: u64,
        /// The order.
        order: Order,
    },
    /// What an order came to.
    Sums {
        /// Number of the order.
        number: u64,
        /// The sums.
        sums: Sums,
    },
}

impl Order {
    /// The order for somebody who uses only these rows.
    pub(crate) fn part(&self, rows: &[u32]) -> Self {
        let part = |list: &Vec<f64>| rows.iter().map(|&row| list[row as usize]).collect();
        let repairs = |list: &Vec<Repair>| rows.iter().map(|&row| list[row as usize]).collect();
        match self {
            Self::Weigh { capacities } => Self::Weigh {
                capacities: part(capacities),
            },
            Self::Begin { shares } => Self::Begin {
                shares: part(shares),
            },
            Self::Prox { point, curvature } => Self::Prox {
                point: part(point),
                curvature: *curvature,
            },
            Self::Answer { prices, choose } => Self::Answer {
                prices: part(prices),
                choose: *choose,
            },
            Self::Resume { prices } => Self::Resume {
                prices: part(prices),
            },
            Self::Bound { prices } => Self::Bound {
                prices: part(prices),
            },
            Self::Value { repair } => Self::Value {
                repair: repairs(repair),
            },
            Self::Keep { repair } => Self::Keep {
                repair: repairs(repair),
            },
        }
    }

    /// Number of rows that the order has entries for.
    fn rows(&self) -> usize {
        match self {
            Self::Weigh { capacities: list }
            | Self::Begin { shares: list }
            | Self::Prox { point: list, .. }
            | Self::Answer { prices: list, .. }
            | Self::Resume { prices: list }
            | Self::Bound { prices: list } => list.len(),
            Self::Value { repair } | Self::Keep { repair } => repair.len(),
        }
    }
}

/// One host's side: carries out orders for its flows, each once.
pub struct Agent {
    desk: Desk,
    rows: Vec<u32>,
    curve: Curve,
    selection: Selection,
    rates: Vec<f64>,
    curvature: Vec<f32>,
    counts: Vec<bool>,
    /// Greatest rates that the flows came with.
    maximum: Vec<f64>,
    /// Number of the last order and what it came to.
    last: Option<(u64, Sums)>,
}

impl Agent {
    /// A host with these flows.
    ///
    /// # Errors
    /// An alpha that prices can't be found for.
    pub fn new(mut flows: Flows, utility: Utility, selection: Selection) -> Result<Self, Error> {
        let alpha = check_alpha(utility)?;
        let mut rows = Vec::new();
        for column in &flows.columns {
            match &column.rows {
                Rows::One(row) => rows.push(*row),
                Rows::Each(list) => rows.extend_from_slice(list),
            }
        }
        rows.sort_unstable();
        rows.dedup();
        for column in &mut flows.columns {
            match &mut column.rows {
                Rows::One(row) => *row = position(&rows, *row),
                Rows::Each(list) => list.iter_mut().for_each(|row| *row = position(&rows, *row)),
            }
        }
        let count = flows.len();
        Ok(Self {
            maximum: flows.maximum.clone(),
            desk: Desk::new(flows),
            rows,
            curve: Curve::new(alpha),
            selection,
            rates: alloc::vec![0.0; count],
            curvature: Vec::new(),
            counts: match selection.choice {
                Choice::All => Vec::new(),
                Choice::TopUtilities(_) | Choice::ActiveSet(_) => alloc::vec![true; count],
            },
            last: None,
        })
    }

    /// What the agent says to take part.
    pub fn join(&self) -> Message {
        Message::Join {
            rows: self.rows.clone(),
        }
    }

    /// Rates of the flows (WQE/s); final once a [`Order::Keep`] has been carried out.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Takes a message and says what to answer, if anything. An order that comes again is answered again
    /// but not carried out again; one that is older than the last, or not for this agent, is ignored.
    pub fn on_message(&mut self, message: &Message) -> Option<Message> {
        let Message::Order { number, order } = message else {
            return None;
        };
        if order.rows() != self.rows.len() {
            return None;
        }
        match &self.last {
            Some((last, _)) if number < last => None,
            Some((last, sums)) if number == last => Some(Message::Sums {
                number: *number,
                sums: sums.clone(),
            }),
            _ => Some(self.carry_out(*number, order)),
        }
    }

    fn carry_out(&mut self, number: u64, order: &Order) -> Message {
        if let Order::Prox {
            curvature: Curvature::Remembered,
            ..
        } = order
        {
            self.curvature.resize(self.rates.len(), 0.0);
        }
        if let Order::Weigh { capacities } = order {
            self.desk.flows.maximum.clone_from(&self.maximum);
            self.curve.limit(&mut self.desk.flows, capacities);
        }
        let mut sums = Sums::zero(self.rows.len());
        let mut held = Held {
            rates: &mut self.rates,
            curvature: &mut self.curvature,
            counts: &mut self.counts,
        };
        let tell = (self.selection, &mut sums);
        carry_out(self.curve, order, &mut self.desk, &mut held, tell);
        self.last = Some((number, sums.clone()));
        Message::Sums { number, sums }
    }
}

fn position(rows: &[u32], row: u32) -> u32 {
    let index = rows.binary_search(&row).unwrap_or_default();
    u32::try_from(index).unwrap_or(u32::MAX)
}
