//! GOAL schedules, as text.

use std::collections::BTreeMap;

use fairlane_program::{LONGEST, Operation, Program, Work};
use fairlane_units::{Bytes, Duration};

use crate::{Error, order};

mod scan;
mod write;

use scan::{Kind, Place, Scanner, Word};
pub use write::write;

/// Reads a GOAL schedule; `unit` is how long `calc 1` takes.
///
/// The format has no unit of time: LogGOPSim counts computations in the unit of its parameters, whose defaults are nanoseconds.
///
/// # Errors
/// For text that isn't a GOAL schedule, ranks that are named twice or not at all, labels that are unknown or used twice, operations that wait for
/// themselves, sizes and times out of bounds, and receives from any rank or with any tag.
pub fn read(file: &str, bytes: &[u8], unit: Duration) -> Result<Program, Error> {
    let mut parser = Parser::new(file, bytes, unit)?;
    let ranks = parser.schedule()?;
    Ok(Program {
        ranks,
        groups: Vec::new(),
    })
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    /// The word that is next.
    word: Word<'a>,
    unit: Duration,
    /// How many ranks there are, once it was said.
    ranks: Option<u32>,
}

/// The block of a rank as it is read.
#[derive(Default)]
struct Block<'a> {
    operations: Vec<Operation>,
    /// Where each of them is.
    places: Vec<Place>,
    labels: BTreeMap<&'a str, u32>,
    /// Who waits for whom, and whether only for its start.
    waits: Vec<[Word<'a>; 2]>,
    waits_for_start: Vec<[Word<'a>; 2]>,
}

impl<'a> Parser<'a> {
    fn new(file: &'a str, bytes: &'a [u8], unit: Duration) -> Result<Self, Error> {
        let mut scanner = Scanner::new(file, bytes);
        let word = scanner.next()?;
        Ok(Self {
            scanner,
            word,
            unit,
            ranks: None,
        })
    }

    fn schedule(&mut self) -> Result<Vec<Vec<Operation>>, Error> {
        let mut found = BTreeMap::new();
        loop {
            let word = self.take()?;
            match word.kind {
                Kind::LineEnd => {}
                Kind::End => break,
                Kind::Name("num_ranks") if self.ranks.is_none() => {
                    self.ranks = Some(self.number("how many ranks there are")?);
                }
                Kind::Name("rank") => {
                    let (rank, block) = self.rank(&found)?;
                    found.insert(rank, block);
                }
                _ => return Err(self.expected(word, "\"num_ranks N\" once, or \"rank R {\"")),
            }
        }
        let Some(count) = self.ranks else {
            return Err(self.expected(self.word, "\"num_ranks N\""));
        };
        // Ranks are below `count` and named once, so the first gap is found before `found` ends.
        match (0..count).find(|rank| !found.contains_key(rank)) {
            None => Ok(found.into_values().collect()),
            Some(missing) => {
                let message = format!("no block of rank {missing}, expected {count} ranks");
                let hint = format!(
                    "is the file whole? a rank that does nothing is \"rank {missing} {{\", then \"}}\""
                );
                Err(self.scanner.error(self.word.place, message, hint))
            }
        }
    }

    /// What stands behind `rank`.
    fn rank(
        &mut self,
        found: &BTreeMap<u32, Vec<Operation>>,
    ) -> Result<(u32, Vec<Operation>), Error> {
        let place = self.word.place;
        let rank = self.peer("the number of a rank")?;
        if found.contains_key(&rank) {
            let message = format!("rank {rank} a second time, expected each once");
            return Err(self.scanner.error(place, message, "join its two blocks"));
        }
        let open = self.take()?;
        if open.kind != Kind::Open {
            return Err(self.expected(open, "\"{\""));
        }
        let mut block = Block::default();
        loop {
            let word = self.take()?;
            match word.kind {
                Kind::LineEnd => {}
                Kind::Close => break,
                Kind::Name(name) => {
                    self.statement(rank, name, word, &mut block)?;
                    let behind = self.word;
                    if !matches!(behind.kind, Kind::LineEnd | Kind::Close) {
                        return Err(self.expected(behind, "the end of the line"));
                    }
                }
                _ => {
                    let wanted = "\"calc\", \"send\", \"recv\", a label, or \"}\"";
                    return Err(self.expected(word, wanted));
                }
            }
        }
        Ok((rank, self.ordered(block)?))
    }

    fn statement(
        &mut self,
        rank: u32,
        name: &'a str,
        word: Word<'a>,
        block: &mut Block<'a>,
    ) -> Result<(), Error> {
        if matches!(name, "calc" | "send" | "recv") {
            return self.operation(rank, word, "", block);
        }
        let behind = self.take()?;
        match behind.kind {
            Kind::Colon => {
                let number = self.index(block.operations.len(), word)?;
                if let Some(first) = block.labels.insert(name, number) {
                    let line = block.places[first as usize].line;
                    let message =
                        format!("label \"{name}\" a second time, it stands in line {line}");
                    let hint = "labels are unique within a rank";
                    return Err(self.scanner.error(word.place, message, hint));
                }
                let work = self.take()?;
                self.operation(rank, work, name, block)
            }
            Kind::Name("requires") => {
                block.waits.push([word, self.take()?]);
                Ok(())
            }
            Kind::Name("irequires") => {
                block.waits_for_start.push([word, self.take()?]);
                Ok(())
            }
            _ => Err(self.expected(behind, "\":\", \"requires\" or \"irequires\"")),
        }
    }

    /// What stands behind `calc`, `send` or `recv`.
    fn operation(
        &mut self,
        rank: u32,
        verb: Word<'a>,
        label: &str,
        block: &mut Block<'a>,
    ) -> Result<(), Error> {
        self.index(block.operations.len(), verb)?;
        let (work, stream, nic) = match verb.kind {
            Kind::Name("calc") => {
                let work = Work::Compute(self.time()?);
                let [stream] = self.options(["cpu"])?;
                (work, stream, None)
            }
            Kind::Name("send") => {
                let (to, size) = self.message(rank, "to")?;
                let [tag, stream, nic] = self.options(["tag", "cpu", "nic"])?;
                let tag = tag.unwrap_or_default();
                (Work::Send { to, size, tag }, stream, nic)
            }
            Kind::Name("recv") => {
                let (from, size) = self.message(rank, "from")?;
                let [tag, stream, nic] = self.options(["tag", "cpu", "nic"])?;
                let tag = tag.unwrap_or_default();
                (Work::Receive { from, size, tag }, stream, nic)
            }
            _ => return Err(self.expected(verb, "\"calc\", \"send\" or \"recv\"")),
        };
        let stream = self.narrow("cpu", stream.unwrap_or_default(), verb)?;
        let nic = nic.map(|nic| self.narrow("nic", nic, verb)).transpose()?;
        block.places.push(verb.place);
        block.operations.push(Operation {
            work,
            after: Vec::new(),
            after_start: Vec::new(),
            stream,
            nic,
            step: 0,
            name: label.to_owned(),
        });
        Ok(())
    }

    fn time(&mut self) -> Result<Duration, Error> {
        let place = self.word.place;
        let units: u64 = self.number("how long it takes")?;
        let time = units.checked_mul(self.unit.as_ps()).ok_or_else(|| {
            let message = format!("{units} times {}, expected less than 213 days", self.unit);
            self.scanner.error(place, message, "divide it into several")
        })?;
        Ok(Duration::from_ps(time))
    }

    /// A size, and behind `preposition` the other rank.
    fn message(&mut self, rank: u32, preposition: &str) -> Result<(u32, Bytes), Error> {
        let place = self.word.place;
        let size: u64 = self.number("a size")?;
        if size > LONGEST.get() {
            let message = format!("{size} bytes, expected at most {LONGEST}");
            let hint = "divide it into several messages";
            return Err(self.scanner.error(place, message, hint));
        }
        for wanted in ["b", preposition] {
            let word = self.take()?;
            if word.kind != Kind::Name(wanted) {
                return Err(self.expected(word, &format!("\"{wanted}\"")));
            }
        }
        let place = self.word.place;
        self.refuse_any("a rank")?;
        let other = self.peer("a rank")?;
        if other == rank {
            let message = "a message of a rank to itself, expected another rank";
            let hint = "\"calc\" stands for a local copy";
            return Err(self.scanner.error(place, message, hint));
        }
        // MPI has messages without data; on a network each is a packet.
        Ok((other, Bytes::new(size.max(1))))
    }

    /// The number of a stream or a NIC, which a statement at `word` names.
    fn narrow(&self, name: &str, number: u64, word: Word<'_>) -> Result<u32, Error> {
        u32::try_from(number).map_err(|_| {
            let message = format!("{name} {number}, expected at most {}", u32::MAX);
            self.scanner.error(word.place, message, "count them from 0")
        })
    }

    /// Numbers behind words of these names, in any order.
    fn options<const N: usize>(&mut self, names: [&str; N]) -> Result<[Option<u64>; N], Error> {
        let mut values = [None; N];
        while let Kind::Name(name) = self.word.kind {
            let at = names.iter().position(|it| *it == name);
            let Some(at) = at.filter(|at| values[*at].is_none()) else {
                let wanted = names.map(|it| format!("\"{it}\"")).join(", ");
                return Err(self.expected(self.word, &format!("{wanted}, or the end of the line")));
            };
            self.take()?;
            if name == "tag" {
                self.refuse_any("a tag")?;
            }
            values[at] = Some(self.number("a number")?);
        }
        Ok(values)
    }

    /// Applies what was said about the order.
    fn ordered(&self, mut block: Block<'a>) -> Result<Vec<Operation>, Error> {
        for [later, earlier] in &block.waits {
            let before = self.labelled(&block.labels, *earlier)?;
            let at = self.labelled(&block.labels, *later)? as usize;
            block.operations[at].after.push(before);
        }
        for [later, earlier] in &block.waits_for_start {
            let before = self.labelled(&block.labels, *earlier)?;
            let at = self.labelled(&block.labels, *later)? as usize;
            block.operations[at].after_start.push(before);
        }
        for operation in &mut block.operations {
            for list in [&mut operation.after, &mut operation.after_start] {
                list.sort_unstable();
                list.dedup();
            }
        }
        let Some(cycle) = order::cycle(&block.operations) else {
            return Ok(block.operations);
        };
        let names = cycle.iter().map(|&it| block.operations[it].name.clone());
        let message = format!("{}: none of them begins", order::chain(names));
        let hint = "\"a requires b\" means that b comes first";
        Err(self.scanner.error(block.places[cycle[0]], message, hint))
    }

    fn labelled(&self, labels: &BTreeMap<&'a str, u32>, word: Word<'a>) -> Result<u32, Error> {
        let Kind::Name(name) = word.kind else {
            return Err(self.expected(word, "a label"));
        };
        labels.get(name).copied().ok_or_else(|| {
            let message = format!("no operation of this rank has the label \"{name}\"");
            let hint = "labels hold within their rank; messages order operations of several";
            self.scanner.error(word.place, message, hint)
        })
    }

    /// A number of a rank that there is.
    fn peer(&mut self, what: &str) -> Result<u32, Error> {
        let word = self.word;
        let rank: u32 = self.number(what)?;
        match self.ranks {
            Some(count) if rank < count => Ok(rank),
            Some(count) => {
                let message = format!("rank {rank}, but there are {count}");
                let hint = "ranks are counted from 0; \"num_ranks\" says how many there are";
                Err(self.scanner.error(word.place, message, hint))
            }
            None => Err(self.expected(word, "\"num_ranks N\" before it")),
        }
    }

    fn refuse_any(&self, what: &str) -> Result<(), Error> {
        if self.word.kind != Kind::Number("-1") {
            return Ok(());
        }
        let message = format!("any (-1), expected {what}");
        let hint = "receives from any rank or with any tag aren't supported: name it";
        Err(self.scanner.error(self.word.place, message, hint))
    }

    fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Error> {
        let word = self.take()?;
        let Kind::Number(text) = word.kind else {
            return Err(self.expected(word, what));
        };
        if text.starts_with('-') {
            let message = format!("{text} is negative, expected {what}");
            return Err(self.scanner.error(word.place, message, "0 is the least"));
        }
        let number = text.parse().ok();
        number
            .and_then(|it: u64| T::try_from(it).ok())
            .ok_or_else(|| {
                let message = format!("{text} is too large, expected {what}");
                let hint = format!("it has {} bits at most", 8 * size_of::<T>());
                self.scanner.error(word.place, message, hint)
            })
    }

    fn index(&self, count: usize, word: Word<'_>) -> Result<u32, Error> {
        u32::try_from(count).map_err(|_| {
            let message = format!("a rank with more than {} operations", u32::MAX);
            self.scanner.error(word.place, message, "")
        })
    }

    /// The next word, and goes on.
    fn take(&mut self) -> Result<Word<'a>, Error> {
        let next = self.scanner.next()?;
        Ok(std::mem::replace(&mut self.word, next))
    }

    fn expected(&self, word: Word<'_>, wanted: &str) -> Error {
        let message = format!("{}, expected {wanted}", word.kind.quoted());
        let hint = match word.kind {
            Kind::End => "is the file whole?",
            Kind::LineEnd => "a statement is one line",
            _ => "for example \"l2: send 10b to 1 tag 5\", then \"l2 requires l1\"",
        };
        self.scanner.error(word.place, message, hint)
    }
}
