//! What an experiment compares its figures with: targets of its own, and what a source printed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stands for the published number in a condition.
pub(crate) const PUBLISHED: &str = "published";

/// A figure, and what it is held against.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Written")]
pub(crate) struct Condition {
    /// What, in words.
    pub(crate) name: String,
    /// The figure to check: `run/metric`.
    pub(crate) value: String,
    /// The figure that it is divided by; [`PUBLISHED`] means the published number of the same run and metric.
    pub(crate) over: Option<String>,
    /// The published value.
    pub(crate) published: Option<f64>,
    /// What it is held against.
    pub(crate) wanted: Wanted,
    /// Why a published value isn't reproduced, where that is known.
    pub(crate) deviates: Option<String>,
    /// Whether it is about the full size only: `--quick` leaves it out.
    pub(crate) full: bool,
    /// Compared is the part of the values that are at most this.
    pub(crate) within: Option<f64>,
    /// Whether values that aren't defined don't count.
    pub(crate) defined: bool,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Wanted {
    /// A target of the experiment, which is met or isn't.
    Target {
        /// How the figure must compare with it.
        relation: Relation,
        /// The target.
        target: f64,
    },
    /// What the source printed, which is reproduced or isn't.
    Published {
        /// The published value.
        #[serde(skip)]
        value: f64,
        /// By what part of it the figure may differ, either way.
        tolerance: f64,
    },
}

impl Wanted {
    /// Whether a figure is as it must be.
    pub fn holds(self, figure: f64) -> bool {
        match self {
            Self::Target { relation, target } => relation.holds(figure, target),
            Self::Published { value, tolerance } => {
                (figure - value).abs() <= tolerance * value.abs()
            }
        }
    }

    /// The one of two figures that is less likely to be as it must be.
    pub(crate) fn worse(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Target { relation, .. } => match relation {
                Relation::AtLeast | Relation::Above => one.min(other),
                Relation::AtMost | Relation::Below => one.max(other),
            },
            Self::Published { value, .. } => {
                let is_further = (other - value).abs() > (one - value).abs();
                if is_further { other } else { one }
            }
        }
    }
}

/// How a measured value compares with a target.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Relation {
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// Above.
    #[serde(rename = ">")]
    Above,
    /// Below.
    #[serde(rename = "<")]
    Below,
}

impl Relation {
    /// Whether a value is in this relation to a target.
    pub fn holds(self, value: f64, target: f64) -> bool {
        match self {
            Self::AtLeast => value >= target,
            Self::AtMost => value <= target,
            Self::Above => value > target,
            Self::Below => value < target,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Below => "<",
        })
    }
}

/// What became of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// The target is met.
    #[serde(rename = "pass")]
    Pass,
    /// The target isn't met, or there is no figure.
    #[serde(rename = "fail")]
    Fail,
    /// The figure is the published one, within its tolerance.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The figure isn't within the tolerance of the published one, or there is no figure.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// What becomes of a figure, if it is defined.
    pub(crate) fn of(wanted: Wanted, figure: Option<f64>) -> Self {
        let holds = figure.is_some_and(|figure| wanted.holds(figure));
        match (wanted, holds) {
            (Wanted::Target { .. }, true) => Self::Pass,
            (Wanted::Target { .. }, false) => Self::Fail,
            (Wanted::Published { .. }, true) => Self::Reproduced,
            (Wanted::Published { .. }, false) => Self::NotReproduced,
        }
    }

    /// Whether the figure is as it must be.
    pub const fn holds(self) -> bool {
        matches!(self, Self::Pass | Self::Reproduced)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// A condition as a file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    value: String,
    over: Option<String>,
    relation: Option<Relation>,
    target: Option<f64>,
    published: Option<f64>,
    tolerance: Option<f64>,
    deviates: Option<String>,
    #[serde(default)]
    full: bool,
    within: Option<f64>,
    #[serde(default)]
    defined: bool,
}

impl TryFrom<Written> for Condition {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let wrong = |words: &str| Err(format!("check \"{}\" {words}", written.name));
        let target = written.relation.zip(written.target);
        let wanted = match (target, written.published.zip(written.tolerance)) {
            (Some((relation, target)), None) if written.tolerance.is_none() => {
                Wanted::Target { relation, target }
            }
            (None, Some((value, tolerance)))
                if written.relation.is_none() && written.target.is_none() =>
            {
                Wanted::Published { value, tolerance }
            }
            _ => {
                return wrong(
                    "has neither `relation` and `target` nor `published` and `tolerance`, or has some of both",
                );
            }
        };
        if matches!(wanted, Wanted::Target { .. }) && written.deviates.is_some() {
            return wrong("has a target, and `deviates` is of published values");
        }
        if written.over.is_some() && (written.within.is_some() || written.defined) {
            return wrong("has `over`: `within` and `defined` go with [[ratio]]");
        }
        Ok(Self {
            name: written.name,
            value: written.value,
            over: written.over,
            published: written.published,
            wanted,
            deviates: written.deviates,
            full: written.full,
            within: written.within,
            defined: written.defined,
        })
    }
}

/// A published number.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// The run it is of.
    pub(crate) run: String,
    /// The column.
    pub(crate) metric: String,
    /// The number.
    pub(crate) value: f64,
    /// By what part of it the figure may differ, either way; left out, it is only shown.
    #[serde(default)]
    pub(crate) tolerance: Option<f64>,
    /// Why it isn't reproduced, where that is known.
    #[serde(default)]
    pub(crate) deviates: Option<String>,
    /// Whether `--quick` only shows it.
    #[serde(default)]
    pub(crate) full: bool,
}

impl Published {
    /// The figure that it is of.
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.run, self.metric)
    }

    /// What holds the figure against it, if something does.
    pub(crate) fn condition(&self) -> Option<Condition> {
        Some(Condition {
            name: self.place(),
            value: self.place(),
            over: None,
            published: Some(self.value),
            wanted: Wanted::Published {
                value: self.value,
                tolerance: self.tolerance?,
            },
            deviates: self.deviates.clone(),
            full: self.full,
            within: None,
            defined: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Wanted = Wanted::Published {
        value: -2.0,
        tolerance: 0.1,
    };

    #[test]
    fn published_values_have_two_sides() {
        for (figure, reproduced) in [(-2.19, true), (-1.81, true), (-2.3, false), (2.0, false)] {
            assert_eq!(NEAR.holds(figure), reproduced, "{figure}");
        }
        assert_eq!(Verdict::of(NEAR, None), Verdict::NotReproduced);
        assert_eq!(Verdict::of(NEAR, Some(f64::NAN)), Verdict::NotReproduced);
        assert_eq!(Verdict::of(NEAR, Some(-2.0)), Verdict::Reproduced);
        // Of several figures the one counts that is furthest, on either side.
        assert_eq!(NEAR.worse(-2.1, -1.5), -1.5);
        assert_eq!(NEAR.worse(-2.6, -1.5), -2.6);
    }

    #[test]
    fn a_check_has_a_target_or_a_published_value() {
        let read = |keys: &str| {
            toml::from_str::<Condition>(&format!("name = \"c\"\nvalue = \"a/b\"\n{keys}"))
        };
        let target = "relation = \">=\"\ntarget = 1";
        for fine in [
            target,
            "published = 2\ntolerance = 0.1",
            "published = 2\ntolerance = 0.1\ndeviates = \"why\"",
            &format!("{target}\npublished = 2"),
        ] {
            read(fine).expect(fine);
        }
        for wrong in [
            "",
            "relation = \">=\"",
            "target = 1",
            "published = 2",
            "tolerance = 0.1",
            "relation = \">=\"\npublished = 2\ntolerance = 0.1",
            "target = 1\npublished = 2\ntolerance = 0.1",
            &format!("{target}\npublished = 2\ntolerance = 0.1"),
            &format!("{target}\ntolerance = 0.1"),
            &format!("{target}\ndeviates = \"why\""),
            &format!("{target}\nover = \"c/d\"\ndefined = true"),
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.message().contains("check \"c\""), "{error}");
        }
    }
}
