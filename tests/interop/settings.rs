//! Settings of devices by environment: tenants, whose partition keys are in the port's table, and congestion control.

use crate::pair::{Ended, SERVER, complaint, run};
use crate::setup::{alone, at, compiled, has};

/// Runs perftest at both ends under settings.
fn write(settings: &'static str, index: &'static str) -> ([&'static str; 7], Ended) {
    let arguments = [
        "env",
        settings,
        "ib_write_bw",
        "-n",
        "50",
        "--pkey_index",
        index,
    ];
    let ended = run(&arguments);
    (arguments, ended)
}

/// What both have said.
fn said(ended: &Ended) -> String {
    let all = [&ended.server, &ended.client].map(|output| output.stderr.clone());
    String::from_utf8_lossy(&all.concat()).into_owned()
}

#[test]
fn queue_pairs_take_their_tenant_from_the_table_of_partition_keys() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    const TENANTS: &str = "FAIRLANE_NIC=congestion=swift scope=tenant tenants=0x8001:3,0x8002:1";
    for index in ["0", "1", "2"] {
        let (arguments, ended) = write(TENANTS, index);
        let failed = complaint(&arguments, &ended);
        assert!(failed.is_none(), "{index}: {failed:?}");
        assert!(said(&ended).contains("scope=tenant"), "{ended:?}");
    }
    let (_, ended) = write(TENANTS, "3");
    assert!(!ended.client.status.success(), "{ended:?}");
}

#[test]
fn settings_that_are_not_understood_keep_a_device_closed() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let (_, ended) = write("FAIRLANE_NIC=scope=everybody", "0");
    assert!(!ended.client.status.success() && !ended.server.status.success());
    let said = said(&ended);
    let expected = "FAIRLANE_NIC: `scope` is \"everybody\", expected one of none, qp,";
    assert!(said.contains(expected) && said.contains("hint: "), "{said}");
}

#[test]
fn the_table_of_partition_keys_is_that_of_the_tenants() {
    let Some(program) = compiled("partitions", ("infiniband/verbs.h", "libibverbs-dev")) else {
        return;
    };
    let _alone = alone();
    let mut command = at(SERVER, program.to_str().expect("a plain path"));
    command.env("FAIRLANE_NIC", "scope=tenant tenants=0x8001:3,0x8002:1");
    let output = command.output().expect("the program can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said, "0 0xffff 0\n1 0x8001 1\n2 0x8002 2\n1\n");
}
