//! Columns from files of NumPy.

use fairlane_drum_file::Document;

const TEXT: &str = r#"{"kind": "host_fixed", "inputs": {"alpha": 1, "poll_cost": [1, 1, 1], "Q": 8.0, "C": null}}"#;

/// What `numpy.save` writes.
fn saved(kind: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}");
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

fn document() -> Document {
    Document::read(TEXT).expect("as documented")
}

#[test]
fn columns_are_lists_of_the_document() {
    let whole = TEXT.replace(
        r#""alpha": 1,"#,
        r#""alpha": 1, "weight": [1, 2, 1], "bytes_per_wqe": [1.0, 0.5, 2.0], "x_max": [null, 3.0, null],"#,
    );
    let weight: Vec<u8> = [1i32, 2, 1]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect();
    let rates = [f64::INFINITY, 3.0, f64::INFINITY];
    let mut found = document();
    for (name, file) in [
        ("weight", saved("<i4", 3, &weight)),
        ("bytes_per_wqe", floats(&[1.0, 0.5, 2.0])),
        ("x_max", floats(&rates)),
    ] {
        found.set_column(name, &file).expect("a list");
    }
    assert_eq!(Ok(found), Document::read(&whole));
}

#[test]
fn columns_that_do_not_fit_are_refused_by_name() {
    let ones = floats(&[1.0; 3]);
    let array = "isn't a list of numbers";
    for (name, file, words) in [
        ("wait", &ones, "no such column"),
        ("poll_cost", &ones, "given twice"),
        ("weight", &saved("<f8", 2, &[0; 24]), array),
        ("weight", &saved("<c16", 1, &[0; 16]), array),
    ] {
        let error = document().set_column(name, file).expect_err(words);
        assert!(
            error.place == name && error.message.contains(words),
            "{error}"
        );
    }
}

#[test]
fn broken_files_are_refused_or_read_as_what_they_say() {
    let file = floats(&[1.0, 0.5, 2.0]);
    for cut in 0..file.len() {
        assert!(
            document().set_column("weight", &file[..cut]).is_err(),
            "{cut}"
        );
    }
    for at in 0..file.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut broken = file.clone();
            broken[at] ^= flip;
            let mut found = document();
            if found.set_column("weight", &broken).is_ok() {
                let text = serde_json::to_value(&found).expect("as documented");
                let count = text["inputs"]["weight"].as_array().map(Vec::len);
                // Half the width, twice the number.
                assert!(matches!(count, Some(3 | 6)), "{at}: {count:?}");
            }
        }
    }
}
