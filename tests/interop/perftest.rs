//! The matrix of perftest. It doesn't look at what arrives; both ends must say that all of it did.

use crate::pair::{complaint, run};
use crate::setup::{alone, has};

/// The variants. Of services without acknowledgements no more is sent than receives are posted and sockets hold.
pub(crate) const VARIANTS: [&[&str]; 18] = [
    &["ib_send_bw"],
    &["ib_write_bw"],
    &["ib_read_bw"],
    &["ib_send_lat"],
    &["ib_write_lat"],
    &["ib_read_lat"],
    &["ib_atomic_bw"],
    &["ib_atomic_lat"],
    &["ib_send_bw", "-c", "UD", "-n", "500"],
    &["ib_send_bw", "-c", "UC", "-n", "500", "-s", "4096"],
    &["ib_write_bw", "--use_old_post_send"],
    &["ib_send_bw", "-e"],
    // It polls some of what is there, and waits.
    &["ib_send_bw", "-e", "-b", "-q", "64", "-n", "200"],
    &["ib_write_bw", "-a", "-n", "100"],
    &["ib_write_bw", "-q", "4"],
    &["ib_send_bw", "-b"],
    &["ib_send_bw", "--use-srq"],
    &["ib_send_bw", "-x", "1", "-I", "64", "-s", "64"],
];

#[test]
fn every_variant_ends_well_at_both_ends() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let complaints: Vec<String> = VARIANTS
        .iter()
        .filter_map(|arguments| complaint(arguments, &run(arguments)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
