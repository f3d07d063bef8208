//! Programs of a lab are read, or refused with a place and a hint.

use crate::common::{read, refused};

fn program(rest: &str) -> String {
    format!(
        "[lab]\n[[lab.program]]\nname = \"server\"\nhost = 0\ncommand = [\"ib_write_bw\"]\n\
         [[lab.program]]\nname = \"client\"\nhost = 1\n{rest}"
    )
}

#[test]
fn programs_wait_for_others_and_have_their_addresses() {
    let text = program(
        "command = [\"ib_write_bw\", \"{address:server}\"]\nafter = \"server\"\nenv = { LANG = \"C\" }\n\
         [[lab.fault]]\nprogram = \"client\"\nat = \"2ms\"\naction = \"stop\"",
    );
    let scenario = read(&text).unwrap().scenario;
    let lab = scenario.lab.unwrap();
    assert_eq!(lab.scale, None);
    let [_, client] = &lab.program[..] else {
        panic!("two programs")
    };
    let command = client.command_with(|name| Some(format!("<{name}>")));
    assert_eq!(command.unwrap(), ["ib_write_bw", "<server>"]);
    assert_eq!(client.delay(), None);
    assert_eq!(lab.fault[0].action.to_string(), "stop");
    let after = read(&program("command = [\"x\"]\nafter = \"1.5s\"")).unwrap();
    let lab = after.scenario.lab.unwrap();
    assert_eq!(lab.program[1].delay().unwrap().as_ns(), 1_500_000_000);
    let fixed = read("[lab]\nscale = 100").unwrap().scenario.lab.unwrap();
    assert_eq!(fixed.scale, Some(100.0));
}

#[test]
fn mistakes_of_programs_are_named() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[lab]\nscale = 0.5",
            &["x.toml:2:1", "`lab.scale`", "is 0.5"],
        ),
        (
            "[lab]\nscale = \"fast\"",
            &["x.toml:2", "a number or \"auto\""],
        ),
        (
            "[[lab.program]]\nname = \"2s\"\nhost = 0\ncommand = [\"x\"]",
            &["x.toml:2:1", "`lab.program[0].name`", "a letter"],
        ),
        (
            "[[lab.program]]\nname = \"a/b\"\nhost = 0\ncommand = [\"x\"]",
            &["`lab.program[0].name`", "a letter"],
        ),
        (
            "[[lab.program]]\nname = \"a\"\nhost = 99999\ncommand = [\"x\"]",
            &["x.toml:3:1", "`lab.program[0].host`", "isn't a host"],
        ),
        (
            "[[lab.program]]\nname = \"a\"\nhost = 0\ncommand = []",
            &["x.toml:4:1", "`lab.program[0].command`", "names no program"],
        ),
        (
            "[[lab.program]]\nname = \"a\"\nhost = 0\ncommand = [\"x\"]\ntenant = \"red\"",
            &["x.toml:5:1", "no tenant is called \"red\""],
        ),
        (
            "[[lab.program]]\nname = \"a\"\nhost = 0\ncommand = [\"x\"]\nafter = \"a\"",
            &["x.toml:5:1", "`lab.program[0].after`", "an earlier program"],
        ),
        (
            "[[lab.fault]]\nprogram = \"a\"\nat = \"1ms\"\naction = \"kill\"",
            &["x.toml:2:1", "`lab.fault[0].program`", "is \"a\""],
        ),
    ];
    for (text, parts) in cases {
        refused(text, parts);
    }
    let twice = program("command = [\"x\"]").replace("client", "server");
    refused(&twice, &["x.toml:7:1", "the name of an earlier program"]);
    let nobody = program("command = [\"x\", \"{address:serve}\"]");
    refused(&nobody, &["x.toml:9:1", "is \"serve\"", "server"]);
}
