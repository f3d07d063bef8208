//! Programs that people run over verbs, by `fairlane exec`. The table in docs/verbs-programs.md is made of these rows.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::pair::finish;
use crate::perftest::VARIANTS;
use crate::setup::{alone, fairlane, has, library, root, succeed};
use crate::veth::{self, Namespaces};

const SERVER: &str = "127.77.0.41";
const CLIENT: &str = "127.77.0.42";
/// How long one may take on a machine that does other things, too.
const MOST: Duration = Duration::from_secs(120);
/// How long a server gets until it listens, which can't be seen.
const LISTENS: Duration = Duration::from_millis(700);

/// How a row is run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// `fairlane exec -- COMMAND`: one process or a tree of them.
    Tree,
    /// A server and its client, which gets a last argument: the server's name for what they tell each other before by TCP.
    Pair,
    /// The same between two hosts: network namespaces with a link.
    Hosts,
}

/// A program and a command that must end well and say something.
struct Row {
    program: &'static str,
    /// Of Debian 12.
    package: &'static str,
    version: &'static str,
    how: How,
    command: &'static str,
    says: &'static str,
}

const fn row(
    [program, package, version]: [&'static str; 3],
    how: How,
    command: &'static str,
    says: &'static str,
) -> Row {
    Row {
        program,
        package,
        version,
        how,
        command,
        says,
    }
}

const UCX: [&str; 3] = ["UCX", "ucx-utils", "1.13.1"];
const OPEN_MPI: [&str; 3] = ["Open MPI", "libopenmpi-dev", "4.1.4"];
const MPICH: [&str; 3] = ["MPICH", "libmpich-dev", "4.0.2"];
const LIBFABRIC: [&str; 3] = ["libfabric", "libfabric-bin", "1.17.0"];
const IBSTAT: [&str; 3] = ["infiniband-diags", "infiniband-diags", "44.0"];

/// What `collectives` says at the end of its rounds of sizes of 8 bytes to 8 MiB.
const TWO: &str = "2 ranks, 40 rounds, 0 wrong";
const FOUR: &str = "4 ranks, 16 rounds, 0 wrong";

const ROWS: [Row; 24] = [
    row(IBSTAT, How::Tree, "ibstat", "Link layer: Ethernet"),
    row(IBSTAT, How::Tree, "ibstatus", "link_layer:\t Ethernet"),
    row(UCX, How::Tree, "ucx_info -d", "Transport: rc_verbs"),
    row(
        UCX,
        How::Tree,
        "ucx_info -d -t ud_verbs",
        "Device: fairlane0:1",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t am_lat -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t am_bw -D bcopy -s 4096 -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t put_lat -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t put_bw -D zcopy -s 65536 -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t get -D zcopy -s 65536 -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x rc_verbs -t fadd -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "ucx_perftest -d fairlane0:1 -x ud_verbs -t am_lat -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "env UCX_TLS=rc,ud ucx_perftest -t tag_lat -n 1000",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "env UCX_TLS=rc,ud ucx_perftest -t tag_bw -s 1048576 -n 200",
        "Final:",
    ),
    row(
        UCX,
        How::Pair,
        "env UCX_TLS=rc,ud ucx_perftest -t ucp_get -s 65536 -n 1000",
        "Final:",
    ),
    row(
        OPEN_MPI,
        How::Tree,
        "mpirun.openmpi -n 2 --mca pml ucx --mca osc ucx -x UCX_TLS=rc,ud,self collectives 40",
        TWO,
    ),
    row(
        OPEN_MPI,
        How::Tree,
        "mpirun.openmpi -n 4 --mca pml ucx --mca osc ucx -x UCX_TLS=rc,ud,self collectives 16",
        FOUR,
    ),
    row(
        OPEN_MPI,
        How::Tree,
        "mpirun.openmpi -n 2 --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs;ofi_rxd collectives 40",
        TWO,
    ),
    row(
        OPEN_MPI,
        How::Tree,
        "mpirun.openmpi -n 4 --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs;ofi_rxd collectives 16",
        FOUR,
    ),
    row(
        MPICH,
        How::Tree,
        "mpirun.mpich -n 2 -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS rc,ud,self collectives 40",
        TWO,
    ),
    row(
        LIBFABRIC,
        How::Pair,
        "fi_pingpong -p verbs -e dgram",
        "\n4k ",
    ),
    row(
        LIBFABRIC,
        How::Pair,
        "fi_pingpong -p verbs;ofi_rxd -e rdm",
        "1m",
    ),
    row(
        LIBFABRIC,
        How::Tree,
        "fi_info -p verbs",
        "provider: verbs;ofi_rxm",
    ),
    row(LIBFABRIC, How::Hosts, "fi_pingpong -p verbs -e msg", "1m"),
    row(
        LIBFABRIC,
        How::Hosts,
        "fi_pingpong -p verbs;ofi_rxm -e rdm",
        "1m",
    ),
];

impl Row {
    fn words(&self) -> Vec<&'static str> {
        self.command.split(' ').collect()
    }

    /// What is missing for it, which is said.
    fn can_run(&self) -> bool {
        let words = self.words();
        let program = words
            .iter()
            .find(|word| **word != "env" && !word.contains('='));
        has(program.unwrap_or(&""), self.package)
            && self.compiler().is_none_or(|own| has(own, self.package))
    }

    /// What compiles `collectives` for it.
    fn compiler(&self) -> Option<&'static str> {
        match self.program {
            "Open MPI" => Some("mpicc.openmpi"),
            "MPICH" => Some("mpicc.mpich"),
            _ => None,
        }
    }

    /// `collectives` for this MPI.
    fn collectives(&self, compiler: &str) -> PathBuf {
        let made = root()
            .join("target/interop")
            .join(format!("collectives-{compiler}"));
        std::fs::create_dir_all(root().join("target/interop")).expect("target can be written");
        let mut command = Command::new(compiler);
        command
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&made);
        succeed(command.arg(root().join("tests/interop/c/collectives.c")));
        made
    }

    /// Runs it, and says what went wrong, if something did.
    fn failure(&self) -> Option<String> {
        let collectives = self
            .compiler()
            .map(|own| self.collectives(own).display().to_string());
        let word = |word: &'static str| match (&collectives, word) {
            (Some(path), "collectives") => path.clone(),
            _ => word.to_owned(),
        };
        let words: Vec<String> = self.words().into_iter().map(word).collect();
        let say =
            |said: String| (!said.contains(self.says)).then(|| format!("{}\n{said}", self.command));
        match self.how {
            How::Tree => say(both(&[], None, &words, None)),
            How::Pair => say(both(&[], Some([SERVER, CLIENT]), &words, Some("127.0.0.1"))),
            How::Hosts => {
                let hosts = Namespaces::new()?;
                let [server, client] = &hosts.keepers;
                let inside =
                    |keeper: &str| ["nsenter", "-t", keeper, "-n", "--"].map(str::to_owned);
                let prefixes = [inside(server), inside(client)];
                say(both(
                    &prefixes,
                    Some([veth::SERVER, veth::CLIENT]),
                    &words,
                    Some(veth::SERVER),
                ))
            }
        }
    }

    fn line(&self) -> String {
        let quoted = |word: &&str| match word.contains(';') {
            true => format!("'{word}'"),
            false => (*word).to_owned(),
        };
        let words: Vec<String> = self.words().iter().map(quoted).collect();
        let how = match self.how {
            How::Tree => "one command",
            How::Pair => "server and client",
            How::Hosts => "two hosts",
        };
        format!(
            "| {} {} | {how} | `{}` |\n",
            self.program,
            self.version,
            words.join(" ")
        )
    }
}

/// Runs a program alone, or as server and as client with one argument more, each behind a prefix, if there are any; returns what the last
/// one said if all ended well, else how it ended and what it said.
fn both(
    prefixes: &[[String; 5]],
    addresses: Option<[&str; 2]>,
    words: &[String],
    last: Option<&str>,
) -> String {
    let until = Instant::now() + MOST;
    let start = |role: usize, more: &[&str]| {
        let before: Vec<String> = prefixes.get(role).map_or_else(Vec::new, |own| own.to_vec());
        let own = fairlane().display().to_string();
        let mut all = [before, vec![own, "exec".to_owned()]].concat();
        if let Some(addresses) = addresses {
            all.extend(["--address", addresses[role]].map(str::to_owned));
        }
        all.push("--".to_owned());
        all.extend(words.iter().cloned());
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).args(more).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("FAIRLANE_VERBS", library());
        for name in ["FAIRLANE_ADDRESS", "FAIRLANE_SYSFS"] {
            command.env_remove(name);
        }
        // Open MPI otherwise refuses root, and more processes than cores.
        for name in [
            "ALLOW_RUN_AS_ROOT",
            "ALLOW_RUN_AS_ROOT_CONFIRM",
            "MCA_rmaps_base_oversubscribe",
        ] {
            command.env(format!("OMPI_{name}"), "1");
        }
        command.spawn().expect("it can be started")
    };
    let server = last.map(|_| start(0, &[]));
    if server.is_some() {
        std::thread::sleep(LISTENS);
    }
    let client = start(1, last.as_slice());
    let output = finish(client, until);
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr);
        said = format!("{}\n{talk}", output.status);
    }
    if let Some(mut server) = server {
        // Some servers serve for ever.
        std::thread::sleep(Duration::from_millis(50));
        drop(server.kill());
        drop(server.wait());
    }
    said
}

#[test]
fn programs_of_the_table_run() {
    let _alone = alone();
    let rows = ROWS.iter().filter(|row| row.can_run());
    let failures: Vec<String> = rows.filter_map(Row::failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_table_of_programs_is_what_is_run() {
    const BEGIN: &str = "<!-- programs -->\n";
    const END: &str = "<!-- end of programs -->\n";
    let mut table = "| program of Debian 12 | as | command |\n|---|---|---|\n".to_owned();
    table.extend(ROWS.iter().map(Row::line));
    let variants: Vec<String> = VARIANTS
        .iter()
        .map(|words| format!("`{}`", words.join(" ")))
        .collect();
    writeln!(
        table,
        "| perftest 4.5 | server and client | {} |",
        variants.join(", ")
    )
    .expect("a text");
    let path = root().join("docs/verbs-programs.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the table has a place");
    let (_, behind) = rest.split_once(END).expect("its place ends");
    let right = format!("{before}{BEGIN}{table}{END}{behind}");
    if std::env::var_os("FAIRLANE_UPDATE_PAGES").is_some() {
        std::fs::write(&path, &right).expect("the page can be written");
    }
    assert!(
        page == right,
        "docs/verbs-programs.md has another table\n\
         hint: FAIRLANE_UPDATE_PAGES=1 cargo test -p fairlane-tests --test interop the_table"
    );
}
