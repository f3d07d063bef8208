//! Columns of applications from files of NumPy: numbers that needn't be written as text.

use std::fs;

use fairlane_drum_file::Document;

use crate::args::Column;
use crate::command::drum::failure;
use crate::failure::Failure;

/// Gives a document columns; an infinite greatest rate is none.
///
/// # Errors
/// If a file can't be read, isn't a list of numbers, or isn't for a list of the document.
pub(crate) fn add(document: &mut Document, columns: &[Column]) -> Result<(), Failure> {
    for Column { name, path } in columns {
        let bytes = fs::read(path).map_err(|error| Failure::at(path, error))?;
        let values = numbers(&bytes).ok_or_else(|| {
            let message = "isn't a one-dimensional array of numbers as numpy.save writes it";
            let hint = format!("numpy.save(\"{name}.npy\", {name}.astype(\"<f8\"))");
            Failure::at(path, message).hint(hint)
        })?;
        let finite = |value: f64| (name != "x_max" || value != f64::INFINITY).then_some(value);
        let set = document.set_column(name, values.into_iter().map(finite).collect());
        set.map_err(|error| failure(&format!("--column {}", path.display()), error))?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"kind": "host_fixed", "inputs": {"alpha": 1, "poll_cost": [1, 1, 1], "Q": 8.0, "C": null}}"#;

    fn saved(kind: &str, count: usize, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}");
        let header = format!("{header:<117}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn floats(values: &[f64]) -> Vec<u8> {
        let data: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        saved("<f8", values.len(), &data)
    }

    fn added(name: &str, bytes: &[u8], document: &mut Document) -> Result<(), String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("column.npy");
        fs::write(&path, bytes).unwrap();
        let column = format!("{name}={}", path.display()).parse().unwrap();
        add(document, &[column]).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn columns_are_those_of_the_document() {
        let whole = TEXT.replace(
            r#""alpha": 1,"#,
            r#""alpha": 1, "weight": [1, 2, 1], "bytes_per_wqe": [1.0, 0.5, 2.0], "x_max": [null, 3.0, null],"#,
        );
        let mut document = Document::read(TEXT).unwrap();
        let weight: Vec<u8> = [1i32, 2, 1]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect();
        added("weight", &saved("<i4", 3, &weight), &mut document).unwrap();
        added("bytes_per_wqe", &floats(&[1.0, 0.5, 2.0]), &mut document).unwrap();
        let rates = [f64::INFINITY, 3.0, f64::INFINITY];
        added("x_max", &floats(&rates), &mut document).unwrap();
        assert_eq!(document, Document::read(&whole).unwrap());
    }

    #[test]
    fn columns_that_do_not_fit_are_refused_by_name() {
        let ones = floats(&[1.0; 3]);
        for (name, bytes, words) in [
            ("wait", &ones, "wait: no such column"),
            ("poll_cost", &ones, "poll_cost: given in the document, too"),
            (
                "weight",
                &saved("<f8", 2, &[0; 24]),
                "isn't a one-dimensional array",
            ),
            (
                "weight",
                &saved("<c16", 1, &[0; 16]),
                "isn't a one-dimensional array",
            ),
        ] {
            let mut document = Document::read(TEXT).unwrap();
            let said = added(name, bytes, &mut document).unwrap_err();
            assert!(
                said.contains(words) && said.contains("column.npy"),
                "{said}"
            );
        }
        assert!("weight".parse::<Column>().is_err() && "=x".parse::<Column>().is_err());
    }

    #[test]
    fn broken_files_are_refused_or_read_as_what_they_say() {
        let bytes = floats(&[1.0, 0.5, 2.0]);
        for cut in 0..bytes.len() {
            assert_eq!(numbers(&bytes[..cut]), None, "{cut}");
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                let read = numbers(&broken);
                assert!(
                    read.is_none_or(|read| read.len() == 3 || read.len() == 6),
                    "{at}"
                );
            }
        }
    }
}
