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
    /// Takes a list of the inputs from a file that `numpy.save` wrote: a number for each application, of a network for each
    /// flow. A greatest rate that is infinite is none. The document mustn't have the list.
    ///
    /// # Errors
    /// If the file isn't a one-dimensional array of numbers, the kind of problem has no such list, or the document has it,
    /// too. The place is `name`.
    pub fn set_column(&mut self, name: &str, npy: &[u8]) -> Result<(), Error> {
        let mut columns = self.columns();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let hint = format!("columns of this kind are {}", names.join(", "));
        let Some((_, column)) = columns.iter_mut().find(|(known, _)| *known == name) else {
            return Err(Error::new(name, "no such column", hint));
        };
        let there = match column {
            Column::Plain(list) => list.is_some(),
            Column::Partial(list) => list.is_some(),
        };
        if there {
            let hint = "leave it out of the document, or name one file";
            return Err(Error::new(name, "given twice", hint));
        }
        let values = numbers(npy).ok_or_else(|| {
            let message = "isn't a list of numbers of 32 or 64 bits as numpy.save writes it";
            let hint = format!("numpy.save(\"{name}.npy\", {name}.ravel().astype(\"<f8\"))");
            Error::new(name, message, hint)
        })?;
        match column {
            Column::Plain(list) => **list = Some(values),
            Column::Partial(list) => {
                let finite = |rate: f64| (rate != f64::INFINITY).then_some(rate);
                **list = Some(values.into_iter().map(finite).collect());
            }
        }
        Ok(())
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

/// The numbers of a file (NumPy enhancement proposal 1); none if it has something else.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of the solver have 53 bits"
)]
fn numbers(file: &[u8]) -> Option<Vec<f64>> {
    let (version, rest) = file.strip_prefix(b"\x93NUMPY")?.split_first_chunk()?;
    let (length, rest) = match version {
        [1, _] => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        [2 | 3, _] => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length)?;
    let header = std::str::from_utf8(header).ok()?;
    let (_, shape) = header.split_once("'shape': (")?;
    let (shape, _) = shape.split_once(",)")?;
    let count: usize = shape.trim().parse().ok()?;
    let (_, kind) = header.split_once("'descr': '")?;
    let (kind, _) = kind.split_once('\'')?;
    macro_rules! read {
        ($type:ty, $convert:expr) => {{
            let (values, rest) = data.as_chunks();
            let all = values
                .iter()
                .map(|bytes| $convert(<$type>::from_le_bytes(*bytes)));
            (values.len() == count && rest.is_empty()).then(|| all.collect())
        }};
    }
    match kind {
        "<f8" => read!(f64, |it| it),
        "<f4" => read!(f32, f64::from),
        "<i8" => read!(i64, |it| it as f64),
        "<u8" => read!(u64, |it| it as f64),
        "<i4" => read!(i32, f64::from),
        "<u4" => read!(u32, f64::from),
        _ => None,
    }
}
