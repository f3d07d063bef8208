//! Columns that come beside a document.

use crate::error::Error;
use crate::inputs::{Document, Inputs};

/// A list of the inputs with a number for each application.
enum Column<'a> {
    Plain(&'a mut Option<Vec<f64>>),
    /// Some applications have none.
    Partial(&'a mut Option<Vec<Option<f64>>>),
}

impl Document {
    /// Takes a column from beside the document: `name` is that of a list in the inputs, which mustn't be there.
    ///
    /// # Errors
    /// If the kind of problem has no such list, the document has it too, or an application has no number where each
    /// needs one. The place is the column.
    pub fn set_column(&mut self, name: &str, values: Vec<Option<f64>>) -> Result<(), Error> {
        let mut columns = self.columns();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let hint = format!("columns of this kind are {}", names.join(", "));
        let found = columns.iter_mut().find(|(known, _)| *known == name);
        match found {
            None => Err(Error::new(name, "no such column", hint)),
            Some((_, column)) => column.fill(name, values),
        }
    }

    fn columns(&mut self) -> Vec<(&'static str, Column<'_>)> {
        use Column::{Partial, Plain};
        match &mut self.problem {
            Inputs::HostFixed(it)
            | Inputs::HostPwl(it)
            | Inputs::HostTopk(it)
            | Inputs::HostTimeshare(it) => vec![
                ("weight", Plain(&mut it.weight)),
                ("share", Plain(&mut it.share)),
                ("latency_weight", Plain(&mut it.latency_weight)),
                ("a", Plain(&mut it.a)),
                ("bytes_per_wqe", Plain(&mut it.bytes_per_wqe)),
                ("poll_cost", Plain(&mut it.poll_cost)),
                ("x_min", Plain(&mut it.x_min)),
                ("x_max", Partial(&mut it.x_max)),
                ("peak_rate", Plain(&mut it.peak_rate)),
                ("outage", Plain(&mut it.outage)),
            ],
            Inputs::Coupled(it) => vec![
                ("weight", Plain(&mut it.weight)),
                ("share", Plain(&mut it.share)),
                ("latency_weight", Plain(&mut it.latency_weight)),
                ("a", Plain(&mut it.a)),
                ("x_min", Plain(&mut it.x_min)),
                ("x_max", Partial(&mut it.x_max)),
            ],
        }
    }
}

impl Column<'_> {
    fn fill(&mut self, name: &str, values: Vec<Option<f64>>) -> Result<(), Error> {
        let there = match self {
            Self::Plain(list) => list.is_some(),
            Self::Partial(list) => list.is_some(),
        };
        if there {
            let hint = "leave it out of one of the two";
            return Err(Error::new(name, "given in the document, too", hint));
        }
        match self {
            Self::Plain(list) => {
                let all: Option<Vec<f64>> = values.iter().copied().collect();
                if all.is_none() {
                    let row = values.iter().position(Option::is_none).unwrap_or_default();
                    let hint = "only x_max may be null: there is no greatest rate";
                    return Err(Error::new(format!("{name}[{row}]"), "is null", hint));
                }
                **list = all;
            }
            Self::Partial(list) => **list = Some(values),
        }
        Ok(())
    }
}
