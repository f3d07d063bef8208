//! Faults as text: parts with keys, and a line of words that has all of them.

use std::fmt::{self, Display};
use std::str::FromStr;

use fairlane_transport::Status;
use fairlane_units::{Duration, Mistake, Time};

use super::{Faults, GidFault, PortFault, RequestFault, Which};

/// A part and its keys.
struct Part {
    name: &'static str,
    /// Whether there may be several.
    repeats: bool,
    keys: &'static [&'static str],
}

const PARTS: [Part; 6] = [
    Part {
        name: "packets",
        repeats: false,
        keys: &["loss", "duplicate", "reorder", "delay", "corrupt", "mark"],
    },
    Part {
        name: "port",
        repeats: true,
        keys: &["at", "down"],
    },
    Part {
        name: "gid",
        repeats: true,
        keys: &["at", "to"],
    },
    Part {
        name: "request",
        repeats: true,
        keys: &["number", "every", "status"],
    },
    Part {
        name: "queue",
        repeats: false,
        keys: &["send", "receive", "completion"],
    },
    Part {
        name: "mtu",
        repeats: false,
        keys: &["active", "path"],
    },
];

/// The key that belongs to no part.
const SEED: &str = "seed";

/// Errors with which requests end, as `enum ibv_wc_status` calls them.
const STATUSES: [(&str, Status); 9] = [
    ("IBV_WC_LOC_LEN_ERR", Status::LocalLength),
    ("IBV_WC_LOC_PROT_ERR", Status::LocalProtection),
    ("IBV_WC_MW_BIND_ERR", Status::WindowBind),
    ("IBV_WC_BAD_RESP_ERR", Status::BadResponse),
    ("IBV_WC_REM_INV_REQ_ERR", Status::RemoteInvalidRequest),
    ("IBV_WC_REM_ACCESS_ERR", Status::RemoteAccess),
    ("IBV_WC_REM_OP_ERR", Status::RemoteOperation),
    ("IBV_WC_RETRY_EXC_ERR", Status::RetryExceeded),
    ("IBV_WC_RNR_RETRY_EXC_ERR", Status::RnrRetryExceeded),
];

/// Indices of the table of GIDs.
const GIDS: u8 = 16;
/// Packets are held back no longer.
const LONGEST: Duration = Duration::from_ms(10_000);

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Keys of a part with their values, as they were found.
struct Entries<'a> {
    part: &'a str,
    all: &'a [(&'a str, &'a str)],
}

impl Entries<'_> {
    fn find(&self, key: &str) -> Option<&str> {
        let found = self.all.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.trim())
    }

    fn mistake(&self, key: &str, expected: &str) -> Mistake {
        let value = self.find(key).unwrap_or_default();
        let message = format!("`{key}` of `{}` is {value}, expected {expected}", self.part);
        Mistake::new(
            key,
            message,
            "docs/verbs-programs.md lists keys, units and ranges",
        )
    }

    /// The value of a key, if it has one.
    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Mistake> {
        let read = self.find(key).map(|value| read(value).ok_or(value));
        let read = read.transpose();
        read.map_err(|_| self.mistake(key, expected))
    }

    /// The value of a key that must have one.
    fn need<T>(&self, key: &str, read: Option<T>) -> Result<T, Mistake> {
        read.ok_or_else(|| {
            let message = format!("`{}` needs `{key}`", self.part);
            Mistake::new("", message, format!("write {key} = ... as well"))
        })
    }

    fn part_of_1(&self, key: &str) -> Result<Option<f64>, Mistake> {
        self.read(key, "a part of 1, from 0 to 1", |value| {
            let part = value.parse().ok();
            part.filter(|part| (0.0..=1.0).contains(part))
        })
    }

    fn span(&self, key: &str) -> Result<Option<Duration>, Mistake> {
        let expected = "a time such as \"200us\" or \"2.5s\" (ps, ns, us, ms, s)";
        self.read(key, expected, |value| value.parse().ok())
    }

    fn whole(&self, key: &str) -> Result<Option<u64>, Mistake> {
        self.read(key, "a whole number from 1 on", |value| {
            value.parse().ok().filter(|number| *number > 0)
        })
    }

    fn room(&self, key: &str) -> Result<Option<u32>, Mistake> {
        self.read(key, "a whole number from 1 to 4294967295", |value| {
            value.parse().ok().filter(|number| *number > 0)
        })
    }

    fn mtu(&self, key: &str) -> Result<Option<u16>, Mistake> {
        self.read(key, "256, 512, 1024, 2048 or 4096", |value| {
            let mtu = value.parse().ok();
            mtu.filter(|mtu| matches!(mtu, 256 | 512 | 1024 | 2048 | 4096))
        })
    }

    fn at(&self) -> Result<Time, Mistake> {
        let at = self.span("at")?;
        Ok(Time::from_ps(self.need("at", at)?.as_ps()))
    }

    fn request(&self) -> Result<RequestFault, Mistake> {
        let which = match (self.whole("number")?, self.whole("every")?) {
            (Some(number), None) => Which::Number(number),
            (None, Some(period)) => Which::Every(period),
            _ => {
                let message = "`request` needs `number` or `every`, one of them";
                let hint = "number = 100 is one request of each queue pair, every = 100 one of each hundred";
                return Err(Mistake::new("", message, hint));
            }
        };
        let names = listed(STATUSES.iter().map(|(name, _)| *name));
        let status = self.read("status", &format!("one of {names}"), |value| {
            let found = STATUSES.iter().find(|(name, _)| *name == value);
            found.map(|(_, status)| *status)
        })?;
        let status = self.need("status", status)?;
        Ok(RequestFault { which, status })
    }
}

impl Faults {
    /// Names of parts, and of the key `seed`.
    pub fn parts() -> impl Iterator<Item = &'static str> {
        PARTS.iter().map(|part| part.name).chain([SEED])
    }

    /// Keys of a part; none if it isn't known.
    pub fn keys(part: &str) -> &'static [&'static str] {
        let known = PARTS.iter().find(|own| own.name == part);
        known.map_or(&[], |own| own.keys)
    }

    /// Whether there may be several of a part.
    pub fn repeats(part: &str) -> bool {
        PARTS.iter().any(|own| own.name == part && own.repeats)
    }

    /// Adds a part with keys and their values.
    ///
    /// # Errors
    /// What is wrong; the place is the key, if it is about one.
    pub fn add(&mut self, part: &str, entries: &[(&str, &str)]) -> Result<(), Mistake> {
        let known = PARTS.iter().find(|own| own.name == part);
        let known = known.ok_or_else(|| {
            let message = format!("there is no `{part}`");
            Mistake::new("", message, format!("there are {}", listed(Self::parts())))
        })?;
        for (at, (key, _)) in entries.iter().enumerate() {
            if !known.keys.contains(key) {
                let message = format!("`{part}` has no `{key}`");
                let hint = format!("it has {}", listed(known.keys.iter().copied()));
                return Err(Mistake::new(*key, message, hint));
            }
            if entries[..at].iter().any(|(before, _)| before == key) {
                let message = format!("`{key}` of `{part}` is stated twice");
                return Err(Mistake::new(*key, message, "keep one of them"));
            }
        }
        let entries = Entries { part, all: entries };
        match part {
            "packets" => self.add_packets(&entries)?,
            "port" => self.ports.push(PortFault {
                at: entries.at()?,
                down: entries.span("down")?,
            }),
            "gid" => self.gids.push(GidFault {
                at: entries.at()?,
                to: entries.read("to", "an index from 0 to 15", |value| {
                    value.parse().ok().filter(|to| *to < GIDS)
                })?,
            }),
            "request" => self.requests.push(entries.request()?),
            "queue" => {
                self.queue.send = entries.room("send")?;
                self.queue.receive = entries.room("receive")?;
                self.queue.completion = entries.room("completion")?;
            }
            _ => {
                self.mtu.active = entries.mtu("active")?;
                self.mtu.path = entries.mtu("path")?;
            }
        }
        Ok(())
    }

    fn add_packets(&mut self, entries: &Entries<'_>) -> Result<(), Mistake> {
        let packets = &mut self.packets;
        for (key, own) in [
            ("loss", &mut packets.loss),
            ("duplicate", &mut packets.duplicate),
            ("reorder", &mut packets.reorder),
            ("corrupt", &mut packets.corrupt),
            ("mark", &mut packets.mark),
        ] {
            *own = entries.part_of_1(key)?.unwrap_or(*own);
        }
        if let Some(delay) = entries.span("delay")? {
            if delay > LONGEST {
                return Err(entries.mistake("delay", "at most 10s"));
            }
            packets.delay = delay;
        }
        Ok(())
    }

    /// Sets where random numbers begin.
    ///
    /// # Errors
    /// If it is no whole number of at most 64 bits.
    pub fn set_seed(&mut self, value: &str) -> Result<(), Mistake> {
        let mistake = || {
            let message = format!("`{SEED}` is {value}, expected a whole number from 0 on");
            Mistake::new(SEED, message, "any number will do, such as seed = 7")
        };
        self.seed = value.trim().parse().map_err(|_| mistake())?;
        Ok(())
    }
}

impl FromStr for Faults {
    type Err = Mistake;

    /// Reads the line of words that [`Display`] writes.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        const FORM: &str = "write words such as seed=7 packets=loss:0.01,delay:200us port=at:2s,down:500ms, \
                            or let `fairlane exec --faults FILE` do it";
        let mut faults = Self::default();
        let mut seen = Vec::new();
        for word in text.split_whitespace() {
            let formless = |word: &str| {
                let message = format!("`{word}` isn't understood");
                Mistake::new("", message, FORM)
            };
            let (name, rest) = word.split_once('=').ok_or_else(|| formless(word))?;
            if !Self::repeats(name) && seen.contains(&name) {
                let message = format!("`{name}` is stated twice");
                return Err(Mistake::new(
                    "",
                    message,
                    "put its keys behind one, with commas",
                ));
            }
            seen.push(name);
            if name == SEED {
                faults.set_seed(rest)?;
                continue;
            }
            let entries = rest.split(',').filter(|entry| !entry.is_empty());
            let entries = entries.map(|entry| entry.split_once(':').ok_or_else(|| formless(entry)));
            let entries: Vec<(&str, &str)> = entries.collect::<Result<_, _>>()?;
            faults.add(name, &entries)?;
        }
        Ok(faults)
    }
}

/// A word of a part: what is as usual is left out.
struct Word {
    part: &'static str,
    entries: Vec<String>,
}

impl Word {
    const fn new(part: &'static str) -> Self {
        Self {
            part,
            entries: Vec::new(),
        }
    }

    fn with<T: Display + PartialEq>(mut self, key: &str, value: T, usual: Option<T>) -> Self {
        if Some(&value) != usual.as_ref() {
            self.entries.push(format!("{key}:{value}"));
        }
        self
    }

    fn maybe<T: Display + PartialEq>(self, key: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(key, value, None),
            None => self,
        }
    }
}

impl Faults {
    fn words(&self) -> Vec<Word> {
        let (own, usual) = (&self.packets, Self::default().packets);
        let mut words = vec![
            Word::new("packets")
                .with("loss", own.loss, Some(usual.loss))
                .with("duplicate", own.duplicate, Some(usual.duplicate))
                .with("reorder", own.reorder, Some(usual.reorder))
                .with("delay", own.delay, Some(usual.delay))
                .with("corrupt", own.corrupt, Some(usual.corrupt))
                .with("mark", own.mark, Some(usual.mark)),
            Word::new("queue")
                .maybe("send", self.queue.send)
                .maybe("receive", self.queue.receive)
                .maybe("completion", self.queue.completion),
            Word::new("mtu")
                .maybe("active", self.mtu.active)
                .maybe("path", self.mtu.path),
        ];
        for port in &self.ports {
            let word = Word::new("port").with("at", port.at, None);
            words.push(word.maybe("down", port.down));
        }
        for gid in &self.gids {
            let word = Word::new("gid").with("at", gid.at, None);
            words.push(word.maybe("to", gid.to));
        }
        for request in &self.requests {
            let word = match request.which {
                Which::Number(number) => Word::new("request").with("number", number, None),
                Which::Every(period) => Word::new("request").with("every", period, None),
            };
            let named = STATUSES
                .iter()
                .find(|(_, status)| *status == request.status);
            words.push(word.maybe("status", named.map(|(name, _)| *name)));
        }
        words.retain(|word| !word.entries.is_empty());
        words
    }
}

impl Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SEED}={}", self.seed)?;
        for word in self.words() {
            write!(f, " {}={}", word.part, word.entries.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: &str = "seed=7 packets=loss:0.01,duplicate:0.02,reorder:0.03,delay:50us,corrupt:0.001,mark:1 \
        queue=send:16,receive:8,completion:4 mtu=active:1024,path:512 port=at:2s,down:500ms port=at:9s \
        gid=at:3s,to:4 gid=at:4s request=number:100,status:IBV_WC_RETRY_EXC_ERR \
        request=every:7,status:IBV_WC_REM_ACCESS_ERR";

    #[test]
    fn every_key_is_read_and_written() {
        let faults: Faults = ALL.parse().unwrap();
        let one_space = ALL.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(faults.to_string(), one_space);
        assert_eq!((faults.seed, faults.packets.loss), (7, 0.01));
        assert_eq!(faults.ports[1].down, None);
        assert_eq!(faults.gids[0].to, Some(4));
        assert_eq!(faults.queue.completion, Some(4));
        assert_eq!(faults.mtu.path, Some(512));
        assert_eq!(faults.requests[1].which, Which::Every(7));
        assert_eq!(faults.requests[1].status, Status::RemoteAccess);
        for part in PARTS {
            for key in part.keys {
                assert!(ALL.contains(&format!("{key}:")), "{key}");
            }
        }
        assert_eq!(Faults::default().to_string().parse(), Ok(Faults::default()));
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for (text, says) in [
            ("loss", "`loss` isn't understood"),
            ("packet=loss:1", "there is no `packet`"),
            ("packets=lost:1", "`packets` has no `lost`"),
            ("packets=loss:1,loss:1", "stated twice"),
            ("packets=loss:1 packets=loss:1", "stated twice"),
            ("packets=loss:1.5", "is 1.5, expected a part of 1"),
            ("packets=loss:NaN", "is NaN, expected a part of 1"),
            ("packets=delay:20", "is 20, expected a time"),
            ("packets=delay:11s", "at most 10s"),
            ("port=down:1s", "`port` needs `at`"),
            ("gid=at:1s,to:16", "is 16, expected an index"),
            ("request=status:IBV_WC_REM_OP_ERR", "`number` or `every`"),
            ("request=number:1,every:1", "`number` or `every`"),
            ("request=number:0", "is 0, expected a whole number"),
            ("request=number:1", "`request` needs `status`"),
            ("request=number:1,status:IBV_WC_SUCCESS", "expected one of"),
            ("queue=send:0", "is 0, expected a whole number"),
            ("mtu=path:1500", "is 1500, expected 256, 512"),
            ("seed=-1", "is -1, expected a whole number"),
        ] {
            let mistake = text.parse::<Faults>().unwrap_err();
            assert!(mistake.message.contains(says), "{text}: {mistake}");
            assert!(!mistake.hint.is_empty(), "{text}: {mistake}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_hint(text in "(seed|packets|port|gid|request|queue|mtu|[a-z]|[=:., 0-9]|at|to|send|loss|us|s|number|status|IBV_WC_REM_OP_ERR|\\PC){0,40}") {
            match text.parse::<Faults>() {
                Ok(faults) => prop_assert_eq!(faults.to_string().parse(), Ok(faults)),
                Err(mistake) => prop_assert!(!mistake.message.is_empty() && !mistake.hint.is_empty()),
            }
        }
    }
}
