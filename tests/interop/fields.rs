//! What programs read and ask for by librdmacm, against what rdma-core and the kernel give (`c/fields.c`).

use crate::connections::assert_program;
use crate::setup::alone;

#[test]
fn hints_come_back_with_all_that_they_say() {
    let _alone = alone();
    assert_program("fields", &["hints"]);
}

#[test]
fn ids_have_every_field_at_every_event() {
    let _alone = alone();
    assert_program("fields", &["fields"]);
}

#[test]
fn loopback_stands_for_every_device() {
    let _alone = alone();
    assert_program("fields", &["loopback"]);
}

#[test]
fn addresses_are_shared_as_options_say() {
    let _alone = alone();
    assert_program("fields", &["options"]);
}
