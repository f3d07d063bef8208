//! Tenants: what a scenario says of them, which hosts their workloads use, and what is refused.

use std::path::Path;

use fairlane_scenario::{HostSet, Loaded, Scenario, Tenant, Verb, Workload, load, tenant_of};
use fairlane_units::{Bytes, Duration, Rate, TenantId};
use proptest::prelude::*;

use crate::common::{Folder, read, refusal, refused};

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 8
host_link = { rate = "100Gbps", delay = "1us" }
"#;

const TWO: &str = r#"
[[tenant]]
name = "red"
hosts = "0-3"
[[tenant]]
name = "blue"
weight = 2.5
guarantee = "10Gb/s"
"#;

const EVERY_KIND: &[(&str, &str)] = &[
    (
        "kind = \"poisson\"\nsizes = \"rpc\"\nload = 0.5\nduration = \"1ms\"",
        "sources",
    ),
    ("kind = \"incast\"\ndegree = 2\nsize = \"1kB\"", "hosts"),
    ("kind = \"permutation\"\nsize = \"1kB\"", "hosts"),
    ("kind = \"all-to-all\"\nsize = \"1kB\"", "hosts"),
    ("kind = \"ring-all-reduce\"\nsize = \"1kB\"", "hosts"),
    (
        "kind = \"key-value\"\nservers = \"7\"\nsize = \"32B\"\ncount = 1",
        "clients",
    ),
];

fn two(workload: &str) -> String {
    format!("{STAR}{TWO}[[workload]]\n{workload}\n")
}

#[track_caller]
fn sound(text: &str) -> Loaded {
    read(text).unwrap_or_else(|error| panic!("{error}\nof\n{text}"))
}

/// The set of hosts that post the messages of the first workload.
fn posting(loaded: &Loaded) -> &HostSet {
    match &loaded.scenario.workload[0] {
        Workload::Poisson(it) => &it.sources,
        Workload::KeyValue(it) => &it.clients,
        Workload::Incast(it) => &it.hosts,
        Workload::Permutation(it) => &it.hosts,
        Workload::AllToAll(it) => &it.hosts,
        Workload::RingAllReduce(it) => &it.hosts,
        Workload::Collective(it) => &it.hosts,
        Workload::Training(it) => &it.hosts,
        Workload::Program(it) => &it.hosts,
        Workload::Flows(_) => panic!("a list of messages has no set of hosts"),
    }
}

#[test]
fn a_scenario_without_tenants_has_one_and_does_not_mention_it() {
    let loaded = sound(&format!(
        "{STAR}[[workload]]\nkind = \"permutation\"\nsize = \"1kB\""
    ));
    assert!(!loaded.to_toml().unwrap().contains("tenant"));
    assert_eq!(loaded.scenario.tenants(), [Tenant::default()]);
    let only = &loaded.scenario.tenants()[0];
    assert_eq!(
        (only.name.as_str(), only.weight, only.guarantee),
        ("default", 1.0, None)
    );
    let number = tenant_of(&loaded.scenario.tenant, &loaded.scenario.workload[0]);
    assert_eq!(number, Some(TenantId::new(0)));
}

#[test]
fn tenants_are_read_with_their_defaults() {
    let tenants = sound(&format!("{STAR}{TWO}")).scenario.tenants();
    assert_eq!(tenants[0].weight, 1.0);
    assert_eq!(
        (tenants[0].hosts.0.as_str(), tenants[0].guarantee),
        ("0-3", None)
    );
    assert_eq!(tenants[1].weight, 2.5);
    assert!(tenants[1].hosts.is_all());
    assert_eq!(tenants[1].guarantee, Some(Rate::from_gbps(10)));
}

#[test]
fn a_workload_belongs_to_the_tenant_that_it_names_else_to_the_first() {
    for (workload, _) in EVERY_KIND {
        let workload = workload.replace("servers", "clients = \"0-3\"\nservers");
        let named = sound(&two(&format!("{workload}\ntenant = \"blue\"")));
        let number = |loaded: &Loaded| {
            tenant_of(&loaded.scenario.tenant, &loaded.scenario.workload[0]).unwrap()
        };
        assert_eq!(number(&named), TenantId::new(1), "{workload}");
        let unnamed = sound(&two(&workload));
        assert_eq!(number(&unnamed), TenantId::new(0), "{workload}");
        assert_eq!(unnamed.scenario.workload[0].tenant(), Some("red"));
    }
}

#[test]
fn hosts_left_out_are_those_of_the_tenant() {
    for (workload, key) in EVERY_KIND {
        let loaded = sound(&two(workload));
        assert_eq!(posting(&loaded).0, "0-3", "{workload}");
        let some = sound(&two(&format!("{workload}\n{key} = \"1-3\"")));
        assert_eq!(posting(&some).0, "1-3", "{workload}");
    }
}

#[test]
fn destinations_may_be_anybodys() {
    let loaded = sound(&two(EVERY_KIND[0].0));
    let Workload::Poisson(poisson) = &loaded.scenario.workload[0] else {
        panic!("it is a poisson workload");
    };
    assert!(poisson.destinations.is_all());
    sound(&two(
        "kind = \"incast\"\ndegree = 2\nsize = \"1kB\"\nreceiver = 7",
    ));
    sound(&two(
        "kind = \"flows\"\nflow = [{ source = 3, destination = 7, size = 1 }]",
    ));
}

#[test]
fn hosts_of_others_are_refused() {
    for (workload, key) in EVERY_KIND {
        let text = two(&format!("{workload}\n{key} = \"2-4\""));
        let place = format!("`workload[0].{key}`");
        refused(&text, &[&place, "host 4", "\"red\"", "0-3"]);
    }
    refused(
        &two("kind = \"flows\"\nflow = [{ source = 4, destination = 0, size = 1 }]"),
        &["`workload[0].flow[0].source`", "host 4", "\"red\""],
    );
    refused(
        &two("kind = \"incast\"\nverb = \"read\"\ndegree = 2\nsize = \"1kB\"\nreceiver = 7"),
        &["`workload[0].receiver`", "host 7"],
    );
}

#[test]
fn hosts_of_others_in_a_file_are_refused_with_its_line() {
    let folder = Folder::new("tenant-flows")
        .with("x.toml", &two("kind = \"flows\"\npath = \"flows.txt\""))
        .with("flows.txt", "2\n0 7 3 100 1000 0\n5 0 3 100 1000 1\n");
    let message = refusal(load(&folder.0.join("x.toml"), &[], None));
    assert!(message.contains("flows.txt:3"), "{message}");
    assert!(message.contains("host 5"), "{message}");
}

#[test]
fn bad_tenants_are_refused() {
    let tenant = |lines: &str| format!("{STAR}[[tenant]]\n{lines}\n");
    refused(&tenant("weight = 1"), &["`name` is missing"]);
    refused(&tenant("name = \"\""), &["`tenant[0].name`", "expected 1"]);
    refused(&tenant("name = \"a b\""), &["`tenant[0].name`", "letters"]);
    refused(&tenant("name = \"a\"\nwieght = 1"), &["`weight`?"]);
    for weight in ["0", "-1", "nan", "inf", "-inf", "1e7"] {
        let text = tenant(&format!("name = \"a\"\nweight = {weight}"));
        refused(&text, &["x.toml:8:1", "`tenant[0].weight`", "expected"]);
    }
    refused(
        &tenant("name = \"a\"\nhosts = \"0-8\""),
        &["`tenant[0].hosts`", "node 8"],
    );
    refused(
        &tenant("name = \"a\"\nhosts = \"\""),
        &["`tenant[0].hosts`"],
    );
    refused(
        &format!("{STAR}{TWO}[[tenant]]\nname = \"red\""),
        &["`tenant[2].name`", "earlier tenant"],
    );
}

#[test]
fn unknown_tenants_are_refused() {
    let ask = |name: &str| format!("kind = \"permutation\"\nsize = \"1kB\"\ntenant = \"{name}\"");
    refused(
        &two(&ask("bleu")),
        &["`workload[0].tenant`", "\"bleu\"", "did you mean \"blue\"?"],
    );
    refused(
        &format!("{STAR}[[workload]]\n{}", ask("red")),
        &["`workload[0].tenant`", "\"default\"", "add a [[tenant]]"],
    );
}

#[test]
fn guarantees_fit_the_link_of_every_host() {
    let tenants = |first: &str, hosts: &str, second: &str| {
        format!(
            "{STAR}[[tenant]]\nname = \"a\"\nguarantee = \"{first}\"\n\
             [[tenant]]\nname = \"b\"\nhosts = \"{hosts}\"\nguarantee = \"{second}\"\n"
        )
    };
    sound(&tenants("60Gbps", "5", "40Gbps"));
    refused(
        &tenants("60Gbps", "5", "40.000001Gbps"),
        &["`tenant[1].guarantee`", "host 5", "100Gbps"],
    );
    refused(
        &tenants("101Gbps", "5", "1Gbps"),
        &["`tenant[0].guarantee`", "host 0"],
    );
    refused(
        &tenants("0Gbps", "5", "1Gbps"),
        &["`tenant[0].guarantee`", "expected a rate above 0"],
    );
}

#[test]
fn guarantees_fit_the_link_of_every_receiver() {
    let two = |receiver: u32, workload: &str| {
        format!(
            "{STAR}[[tenant]]\nname = \"a\"\nhosts = \"0-1\"\nguarantee = \"60Gbps\"\n\
             [[tenant]]\nname = \"b\"\nhosts = \"2-3\"\nguarantee = \"60Gbps\"\n\
             [[workload]]\nkind = \"flows\"\nflow = [{{ source = 0, destination = 5, size = 1 }}, \
             {{ source = 1, destination = 5, size = 1 }}]\n\
             [[workload]]\ntenant = \"b\"\n{workload}\n"
        )
        .replace("destination = 6", &format!("destination = {receiver}"))
    };
    let flow = "kind = \"flows\"\nflow = [{ source = 2, destination = 6, size = 1 }]";
    // Two senders of one tenant share what is promised to it at a receiver.
    sound(&two(6, flow));
    refused(
        &two(5, flow),
        &["`tenant[1].guarantee`", "host 5", "100Gbps"],
    );
    let all = "kind = \"poisson\"\nload = 0.1\nduration = \"1ms\"\nsizes = \"hadoop\"";
    refused(&two(6, all), &["`tenant[1].guarantee`", "host 5"]);
}

#[test]
fn a_guarantee_to_a_host_that_does_not_exist_is_no_failure_of_the_check() {
    let to = |workload: &str| {
        format!("{STAR}[[tenant]]\nname = \"a\"\nguarantee = \"1Gbps\"\n[[workload]]\n{workload}\n")
    };
    refused(
        &to("kind = \"incast\"\ndegree = 2\nsize = 1\nreceiver = 99"),
        &["`workload[0].receiver`", "node 99 isn't a host"],
    );
    refused(
        &to("kind = \"flows\"\nflow = [{ source = 0, destination = 99, size = 1 }]"),
        &["`workload[0].flow[0].destination`", "99 isn't a host"],
    );
}

#[test]
fn the_data_of_a_read_takes_the_links_the_other_way() {
    let two = |first: &str, second: &str| {
        format!(
            "{STAR}[[tenant]]\nname = \"a\"\nhosts = \"0\"\nguarantee = \"60Gbps\"\n\
             [[tenant]]\nname = \"b\"\nhosts = \"2\"\nguarantee = \"60Gbps\"\n\
             [[workload]]\nkind = \"flows\"\nverb = \"{first}\"\n\
             flow = [{{ source = 0, destination = 5, size = 1 }}]\n\
             [[workload]]\nkind = \"flows\"\nverb = \"{second}\"\ntenant = \"b\"\n\
             flow = [{{ source = 2, destination = 5, size = 1 }}]\n"
        )
    };
    // One way each.
    sound(&two("write", "read"));
    sound(&two("read", "send"));
    refused(
        &two("write", "send"),
        &["`tenant[1].guarantee`", "to those who send to host 5"],
    );
    // Host 5 sends for both.
    refused(
        &two("read", "read"),
        &["`tenant[1].guarantee`", "promised at host 5"],
    );
}

#[test]
fn whom_an_attack_sends_to_is_a_receiver() {
    let attack = |kind: &str| {
        format!(
            "attack = {{ tenant = \"a\", kind = \"{kind}\", destinations = \"5\" }}\n{STAR}\
             [[tenant]]\nname = \"a\"\nhosts = \"0-1\"\nguarantee = \"60Gbps\"\n\
             [[tenant]]\nname = \"b\"\nhosts = \"2\"\nguarantee = \"60Gbps\"\n\
             [[workload]]\nkind = \"flows\"\ntenant = \"b\"\n\
             flow = [{{ source = 2, destination = 5, size = 1 }}]\n"
        )
    };
    for kind in ["churn", "nic-hog"] {
        refused(&attack(kind), &["`tenant[1].guarantee`", "host 5"]);
    }
}

#[test]
fn guarantees_fit_the_links_between_switches() {
    let dumbbell = |guarantee: &str, workload: &str| {
        format!(
            "[topology]\nkind = \"dumbbell\"\nleft = 4\nright = 4\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             core_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [[tenant]]\nname = \"a\"\nhosts = \"0-3\"\nguarantee = \"{guarantee}\"\n\
             [[workload]]\n{workload}\n"
        )
    };
    let poisson = |destinations: &str| {
        format!(
            "kind = \"poisson\"\nload = 0.1\nduration = \"1ms\"\nsizes = \"hadoop\"\n\
             destinations = \"{destinations}\""
        )
    };
    // Four hosts to four, to two, to one, and to their neighbours.
    sound(&dumbbell("25Gbps", &poisson("4-7")));
    refused(
        &dumbbell("26Gbps", &poisson("4-7")),
        &[
            "`tenant[0].guarantee`",
            "104Gbps",
            "from",
            "switch 8",
            "100Gbps",
        ],
    );
    sound(&dumbbell("50Gbps", &poisson("4,5")));
    refused(&dumbbell("51Gbps", &poisson("4,5")), &["102Gbps"]);
    sound(&dumbbell("100Gbps", &poisson("4")));
    sound(&dumbbell("100Gbps", &poisson("0-3")));
    // READs come back over the link; rounds of an incast overlap, and a ring goes anywhere.
    refused(
        &dumbbell("26Gbps", &format!("verb = \"read\"\n{}", poisson("4-7"))),
        &["104Gbps", "to the hosts", "switch 8"],
    );
    let wide = dumbbell("100Gbps", "kind = \"incast\"\ndegree = 2\nsize = \"1kB\"")
        .replace("hosts = \"0-3\"", "hosts = \"all\"");
    refused(&wide, &["400Gbps", "switch 8"]);
    let cut = "attack = { kind = \"shuffled-overlay\", above = \"1MB\", piece = \"100kB\" }";
    let near = dumbbell("26Gbps", &poisson("0-3\"\nsources = \"0-3"))
        .replace("hosts = \"0-3\"", "hosts = \"all\"");
    sound(&near);
    refused(&format!("{cut}\n{near}"), &["104Gbps", "switch 8"]);
}

#[test]
fn overrides_reach_tenants() {
    let text = two("kind = \"permutation\"\nsize = \"1kB\"");
    let sets = [
        "tenant.0.hosts=\"4-7\"".to_owned(),
        "tenant.1.weight=4".to_owned(),
    ];
    let loaded = fairlane_scenario::parse(&text, "x.toml", Path::new("."), &sets, None).unwrap();
    assert_eq!(posting(&loaded).0, "4-7");
    assert_eq!(loaded.scenario.tenants()[1].weight, 4.0);
}

#[test]
fn messages_from_outside_obey_the_scenario() {
    let scenario = Scenario::default();
    let check = |verb, size, class, start| {
        let checked = scenario.check_message(verb, Bytes::new(size), class, start);
        checked.map_err(|error| error.place).err()
    };
    let now = Duration::ZERO;
    assert_eq!(check(Verb::Write, 1, 3, now), None);
    assert_eq!(check(Verb::Write, 0, 3, now).as_deref(), Some("size"));
    assert_eq!(check(Verb::FetchAdd, 9, 3, now).as_deref(), Some("size"));
    assert_eq!(check(Verb::Read, 1 << 32, 3, now).as_deref(), Some("size"));
    assert_eq!(check(Verb::Write, 1, 0, now).as_deref(), Some("class"));
    let late = Duration::from_ps(u64::MAX);
    assert_eq!(check(Verb::Write, 1, 3, late).as_deref(), Some("start"));
}

proptest! {
    #[test]
    fn tenants_read_back_equal(
        weights in prop::collection::vec(1e-6..1e6f64, 1..6),
        choice in any::<prop::sample::Index>(),
        kind in 0..EVERY_KIND.len(),
    ) {
        let mut text = STAR.to_owned();
        for (i, weight) in weights.iter().enumerate() {
            text.push_str(&format!("[[tenant]]\nname = \"t{i}\"\nweight = {weight:?}\nhosts = \"{i},6\"\n"));
        }
        let tenant = choice.index(weights.len());
        // There is one host beside the receiver of an incast.
        let workload = EVERY_KIND[kind].0.replace("degree = 2", "degree = 1");
        text.push_str(&format!("[[workload]]\n{workload}\ntenant = \"t{tenant}\"\n"));
        let loaded = sound(&text);
        prop_assert_eq!(&posting(&loaded).0, &format!("{tenant},6"));
        let again = read(&loaded.to_toml().unwrap());
        prop_assert_eq!(again, Ok(loaded));
    }
}
