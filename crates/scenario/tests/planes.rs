//! Fabrics of several planes, and which plane a workload's messages take.

use fairlane_scenario::{Planes, TopologyText, layout, load};

use crate::common::{Folder, STAR, read, refusal, refused};

fn leaf_spine(planes: u32) -> TopologyText {
    let text = format!(
        r#"
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 3
        hosts_per_leaf = 2
        host_link = {{ rate = "100Gbps", delay = "1us" }}
        fabric_link = {{ rate = "200Gbps", delay = "2us" }}
        planes = {planes}
        "#
    );
    let loaded = read(&text).unwrap();
    layout(&loaded.scenario, &loaded.inputs)
}

fn planes_of(fabric: &TopologyText) -> Planes {
    let mut switches = vec![false; fabric.nodes as usize];
    for switch in &fabric.switches {
        switches[*switch as usize] = true;
    }
    let links: Vec<_> = fabric.links.iter().map(|link| (link.a, link.b)).collect();
    Planes::find(&switches, &links).unwrap()
}

#[test]
fn a_plane_is_the_shape_again_with_the_same_hosts() {
    let (one, three) = (leaf_spine(1), leaf_spine(3));
    assert_eq!((one.nodes, three.nodes), (4 + 5, 4 + 3 * 5));
    let ends = |fabric: &TopologyText| -> Vec<(u32, u32)> {
        fabric.links.iter().map(|link| (link.a, link.b)).collect()
    };
    let mut expected = Vec::new();
    for plane in 0..3 {
        let moved = |node: u32| if node < 4 { node } else { node + plane * 5 };
        expected.extend(ends(&one).into_iter().map(|(a, b)| (moved(a), moved(b))));
    }
    assert_eq!(ends(&three), expected);
    assert_eq!(planes_of(&one).count, 1);
    let planes = planes_of(&three);
    assert_eq!(planes.count, 3);
    assert_eq!(planes.ports, 3);
}

#[test]
fn counts_of_planes_are_refused() {
    for planes in [0, 9] {
        let text = format!("{STAR}planes = {planes}");
        let found = format!("is {planes}, expected 1 to 8");
        refused(&text, &["`topology.planes`", &found]);
    }
    let dumbbell = "[topology]\nkind = \"dumbbell\"\nplanes = 2";
    refused(dumbbell, &["`topology.planes`", "unknown key"]);
    let ns3 = format!("profile = \"hpcc-ns3\"\n{STAR}planes = 2");
    refused(
        &ns3,
        &["`topology.planes`", "2 planes", "profile \"exact\""],
    );
    read(&format!("{STAR}planes = 8")).unwrap();
}

const PERMUTATION: &str = "[[workload]]\nkind = \"permutation\"\nsize = 1000\n";

#[test]
fn workloads_take_planes_that_there_are() {
    let two = format!("{STAR}planes = 2\n{PERMUTATION}");
    read(&format!("{two}plane = 1")).unwrap();
    refused(
        &format!("{two}plane = 2"),
        &[
            "`workload[0].plane`",
            "is 2, expected 0 to 1",
            "write a plane",
        ],
    );
    let one = format!("{STAR}{PERMUTATION}");
    read(&format!("{one}plane = 0")).unwrap();
    refused(
        &format!("{one}plane = 1"),
        &["`workload[0].plane`", "hosts have one port", "`planes`"],
    );
    refused(&format!("{one}plane = -1"), &["`workload[0].plane`"]);
}

/// What is said of a topology file, whose links begin in line 3.
fn of_file(text: &str, profile: &str) -> Result<u8, String> {
    let scenario =
        format!("profile = \"{profile}\"\n[topology]\nkind = \"file\"\npath = \"t.txt\"");
    let folder = Folder::new("planes").with("t.txt", text);
    let folder = folder.with("s.toml", &scenario);
    match load(&folder.0.join("s.toml"), &[], None) {
        Ok(loaded) => Ok(planes_of(&layout(&loaded.scenario, &loaded.inputs)).count),
        refused => Err(refusal(refused)),
    }
}

/// A topology file with links of 1 Gb/s.
fn file(nodes: u32, switches: &[u32], links: &[(u32, u32)]) -> String {
    let listed: Vec<String> = switches.iter().map(u32::to_string).collect();
    let mut text = format!(
        "{nodes} {} {}\n{}\n",
        switches.len(),
        links.len(),
        listed.join(" ")
    );
    for (a, b) in links {
        text += &format!("{a} {b} 1Gbps 1us 0\n");
    }
    text
}

#[test]
fn workloads_take_no_plane_where_ports_make_none() {
    let fabric = file(5, &[2, 3, 4], &[(0, 2), (2, 3), (1, 4), (0, 4), (1, 3)]);
    let scenario = format!("[topology]\nkind = \"file\"\npath = \"t.txt\"\n{PERMUTATION}plane = 0");
    let folder = Folder::new("portless").with("t.txt", &fabric);
    let folder = folder.with("s.toml", &scenario);
    let message = refusal(load(&folder.0.join("s.toml"), &[], None));
    assert!(message.contains("`workload[0].plane`"), "{message}");
    assert!(
        message.contains("the ports of hosts make no planes"),
        "{message}"
    );
}

#[test]
fn the_links_of_hosts_in_a_file_are_their_ports() {
    // Two hosts; plane 0 is switches 2 and 3, plane 1 is switch 4.
    let sound = [(0, 2), (2, 3), (1, 3), (0, 4), (4, 1)];
    assert_eq!(of_file(&file(5, &[2, 3, 4], &sound), "exact"), Ok(2));
    let ns3 = of_file(&file(5, &[2, 3, 4], &sound), "hpcc-ns3").unwrap_err();
    assert!(ns3.contains("t.txt") && ns3.contains("2 planes"), "{ns3}");
    let ports = |links: &[(u32, u32)]| {
        let text = file(5, &[2, 3, 4], links);
        of_file(&text, "exact").map(|planes| (planes, of_file(&text, "hpcc-ns3").is_ok()))
    };
    let no_planes: [&[(u32, u32)]; 4] = [
        // Host 1 has its planes the other way round.
        &[(0, 2), (2, 3), (1, 4), (0, 4), (1, 3)],
        // A link joins the planes.
        &[(0, 2), (2, 3), (1, 3), (0, 4), (4, 1), (3, 4)],
        // Host 1 isn't in plane 1.
        &[(0, 2), (2, 3), (1, 3), (0, 4), (2, 4)],
        // Host 0 has a second port in plane 0.
        &[(0, 2), (1, 2), (0, 4), (1, 4), (0, 3), (3, 2)],
    ];
    for links in no_planes {
        assert_eq!(ports(links), Ok((1, false)), "{links:?}");
    }
    // Hosts are linked with each other.
    let linked = file(5, &[2, 3, 4], &[(0, 2), (1, 2), (0, 1), (2, 3), (3, 4)]);
    let message = of_file(&linked, "exact").unwrap_err();
    assert!(
        message.contains("t.txt:5") && message.contains("expected switches"),
        "{message}"
    );
    let nine: Vec<u32> = (2..11).collect();
    let links: Vec<_> = nine
        .iter()
        .flat_map(|&switch| [(0, switch), (1, switch)])
        .collect();
    let message = of_file(&file(11, &nine, &links), "exact").unwrap_err();
    assert!(message.contains("9 links, expected at most 8"), "{message}");
}
