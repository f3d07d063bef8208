//! The coordinator's side of the messages: gathers sums, asks the owner of the prices what is next.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::coupled::message::Message;
use crate::coupled::order::{Order, Sums};
use crate::coupled::owner::{CoupledOptions, Owner};
use crate::coupled::solve::{block_count, block_range};
use crate::error::{Error, Place};

/// An agent that takes part.
struct Member {
    rows: Vec<u32>,
    /// What the order under way came to, once it is known.
    sums: Option<Sums>,
}

/// A message and the agent that it goes to.
pub type Letter = (u32, Message);

/// Gathers the sums of agents and tells them what to do until rates are final.
///
/// It knows no time: whoever drives it calls [`resend`](Self::resend) when answers stay away. The same
/// agents come to the same rates as [`solve`](super::solve), bit for bit, whatever is lost, repeated or
/// late.
pub struct Coordinator {
    owner: Owner,
    capacities: Vec<f64>,
    members: BTreeMap<u32, Member>,
    number: u64,
    /// What is under way; nothing before the start and after the end.
    order: Option<Order>,
    started: bool,
}

impl Coordinator {
    /// A coordinator of rows with these capacities.
    pub fn new(capacities: &[f64], options: CoupledOptions) -> Self {
        Self {
            owner: Owner::new(capacities, options),
            capacities: capacities.to_vec(),
            members: BTreeMap::new(),
            number: 0,
            order: None,
            started: false,
        }
    }

    /// Begins with the agents that have joined. Agents that join later make it begin again, from the
    /// prices that it has.
    pub fn start(&mut self) -> Vec<Letter> {
        self.started = true;
        let order = self.owner.first();
        self.send(order)
    }

    /// Whether rates are final.
    pub fn is_done(&self) -> bool {
        self.owner.is_done()
    }

    /// Value, bound and prices so far.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The order under way, for the agents whose sums are missing.
    pub fn resend(&self) -> Vec<Letter> {
        let missing = self
            .members
            .iter()
            .filter(|(_, member)| member.sums.is_none());
        missing
            .filter_map(|(&agent, member)| self.letter(agent, member))
            .collect()
    }

    /// Takes a message from an agent and says what to send.
    ///
    /// # Errors
    /// A message that makes no sense, which is otherwise ignored, or what [`Owner::on_sums`] refuses.
    pub fn on_message(&mut self, from: u32, message: Message) -> Result<Vec<Letter>, Error> {
        match message {
            Message::Join { rows } => self.on_join(from, rows),
            Message::Leave => Ok(self.on_leave(from)),
            Message::Sums { number, sums } => self.on_sums(from, number, sums),
            Message::Order { .. } => Err(nonsense(from, "agents give no orders")),
        }
    }

    fn on_join(&mut self, from: u32, rows: Vec<u32>) -> Result<Vec<Letter>, Error> {
        if rows
            .iter()
            .any(|&row| row as usize >= self.capacities.len())
        {
            return Err(nonsense(from, "it uses a row that there isn't"));
        }
        if let Some(member) = self.members.get(&from)
            && member.rows == rows
        {
            return Ok(self.letter(from, member).into_iter().collect());
        }
        self.members.insert(from, Member { rows, sums: None });
        Ok(self.begin_again())
    }

    fn on_leave(&mut self, from: u32) -> Vec<Letter> {
        if self.members.remove(&from).is_some() {
            self.begin_again()
        } else {
            Vec::new()
        }
    }

    /// Changes a row's capacity (in the row's unit) and begins again from the prices that it has.
    ///
    /// # Errors
    /// A row that there isn't, or a capacity that isn't positive.
    pub fn set_capacity(&mut self, row: usize, capacity: f64) -> Result<Vec<Letter>, Error> {
        let place = || Place::Row(format!("rows[{row}]"));
        let fits = capacity > 0.0 && capacity.is_finite();
        match self.capacities.get_mut(row) {
            Some(entry) if fits => *entry = capacity,
            _ => {
                return Err(Error::Number {
                    place: place(),
                    value: capacity,
                    expected: "a positive capacity of a row that there is",
                });
            }
        }
        Ok(self.begin_again())
    }

    fn begin_again(&mut self) -> Vec<Letter> {
        if !self.started {
            return Vec::new();
        }
        let order = self.owner.restart(&self.capacities);
        self.send(order)
    }

    fn on_sums(&mut self, from: u32, number: u64, sums: Sums) -> Result<Vec<Letter>, Error> {
        if number != self.number || self.order.is_none() {
            return Ok(Vec::new());
        }
        let Some(member) = self.members.get_mut(&from) else {
            return Ok(Vec::new());
        };
        let rows = member.rows.len();
        let fits = |list: &Vec<f64>| list.len() == rows;
        let floors = sums.floors.is_empty() || fits(&sums.floors);
        if !(fits(&sums.loads) && fits(&sums.weights) && fits(&sums.tops) && floors) {
            return Err(nonsense(
                from,
                "its sums have entries for other rows than its own",
            ));
        }
        if member.sums.is_some() {
            return Ok(Vec::new());
        }
        member.sums = Some(sums);
        if self.members.values().any(|member| member.sums.is_none()) {
            return Ok(Vec::new());
        }
        match self.owner.on_sums(&self.total())? {
            Some(order) => Ok(self.send(order)),
            None => {
                self.order = None;
                Ok(Vec::new())
            }
        }
    }

    /// Sums over all agents, in the tree in which [`solve`](super::solve) adds up hosts.
    fn total(&self) -> Sums {
        let rows = self.capacities.len();
        let members: Vec<&Member> = self.members.values().collect();
        let mut total = Sums::zero(rows);
        for index in 0..block_count(members.len()) {
            let mut block = Sums::zero(rows);
            for member in &members[block_range(members.len(), index)] {
                if let Some(sums) = &member.sums {
                    block.add_part(&member.rows, sums);
                }
            }
            total.add(&block);
        }
        total
    }

    fn send(&mut self, order: Order) -> Vec<Letter> {
        self.number += 1;
        self.order = Some(order);
        for member in self.members.values_mut() {
            member.sums = None;
        }
        self.resend()
    }

    fn letter(&self, agent: u32, member: &Member) -> Option<Letter> {
        let order = self.order.as_ref()?.part(&member.rows);
        let number = self.number;
        Some((agent, Message::Order { number, order }))
    }
}

impl Sums {
    /// Adds sums that have entries for some rows only.
    fn add_part(&mut self, rows: &[u32], part: &Self) {
        let count = self.loads.len();
        for (k, &row) in rows.iter().enumerate() {
            let row = row as usize;
            self.loads[row] += part.loads[k];
            self.weights[row] += part.weights[k];
            if part.tops[k] > self.tops[row] {
                self.tops[row] = part.tops[k];
            }
            if !part.floors.is_empty() {
                self.floors.resize(count, 0.0);
                self.floors[row] += part.floors[k];
            }
        }
        self.worth += part.worth;
        self.response += part.response;
    }
}

fn nonsense(from: u32, reason: &'static str) -> Error {
    Error::Unsupported {
        place: Place::Entry("agent", from as usize),
        reason,
        hint: "agents and coordinator must be of the same version and network",
    }
}
