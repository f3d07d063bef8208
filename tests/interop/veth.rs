//! Programs between two network namespaces with a pair of veth: two hosts, as far as they can see.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::pair::{complaint, run_at};
use crate::perftest::VARIANTS;
use crate::setup::{alone, has};

pub(crate) const SERVER: &str = "10.78.0.1";
pub(crate) const CLIENT: &str = "10.78.0.2";

/// Makes both namespaces, and says the numbers of the processes that keep them, which end with standard input: it closes with whoever
/// holds its other end.
const START: &str = r#"
set -e
exec 3<&0
unshare -n cat <&3 >/dev/null &
client=$!
while [ "$(readlink /proc/$client/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
ip link add name left mtu 9000 type veth peer name right mtu 9000 netns $client
ip address add "$SERVER/24" dev left
ip link set left up
ip link set lo up
nsenter -t $client -n ip address add "$CLIENT/24" dev right
nsenter -t $client -n ip link set right up
nsenter -t $client -n ip link set lo up
# Links come up a while after they were told to.
until ip -brief link show left | grep -q " UP " && nsenter -t $client -n ip -brief link show right | grep -q " UP "; do
    sleep 0.01
done
echo $$ $client
wait
"#;

/// Two network namespaces.
pub(crate) struct Namespaces {
    shell: Child,
    /// The processes that keep them: the server's and the client's.
    pub(crate) keepers: [String; 2],
}

impl Namespaces {
    /// They, or nothing, and a line why they can't be had.
    pub(crate) fn new() -> Option<Self> {
        let programs = [
            ("ip", "iproute2"),
            ("unshare", "util-linux"),
            ("nsenter", "util-linux"),
        ];
        if !programs.iter().all(|(name, package)| has(name, package)) {
            return None;
        }
        let mut shell = Command::new("unshare");
        shell
            .args(["-n", "sh", "-c", START])
            .env("SERVER", SERVER)
            .env("CLIENT", CLIENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut shell = shell.spawn().expect("it has been found");
        let mut line = String::new();
        let said = shell.stdout.take().expect("it is a pipe");
        BufReader::new(said)
            .read_line(&mut line)
            .expect("it is text");
        let Some((server, client)) = line.trim().split_once(' ') else {
            let output = shell.wait_with_output().expect("it is a child");
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("skipped: no network namespaces: {}", why.trim());
            return None;
        };
        let keepers = [server, client].map(str::to_owned);
        Some(Self { shell, keepers })
    }

    /// Runs a program as server and as client, and says what went wrong, if something did.
    fn failure(&self, arguments: &[&str]) -> Option<String> {
        let inside = |keeper| [&["nsenter", "-t", keeper, "-n", "--"], arguments].concat();
        let [server, client] = &self.keepers;
        let client = [&inside(client)[..], &[SERVER]].concat();
        let ended = run_at([(SERVER, &inside(server)), (CLIENT, &client)], None);
        complaint(arguments, &ended)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Whether it can still be waited for makes no difference.
        let _ = self.shell.wait();
    }
}

#[test]
fn two_hosts_run_the_matrix_and_compare_what_they_send() {
    if !has("ib_write_bw", "perftest") || !has("ibv_rc_pingpong", "ibverbs-utils") {
        return;
    }
    let _alone = alone();
    let Some(hosts) = Namespaces::new() else {
        return;
    };
    // `-c` compares every byte.
    let pingpongs: [&[&str]; 3] = [
        &[
            "ibv_rc_pingpong",
            "-g",
            "1",
            "-c",
            "-m",
            "4096",
            "-s",
            "1000001",
            "-n",
            "50",
        ],
        &["ibv_uc_pingpong", "-g", "1", "-c"],
        &["ibv_ud_pingpong", "-g", "1", "-c", "-s", "4096"],
    ];
    let all = pingpongs.iter().chain(&VARIANTS);
    let complaints: Vec<String> = all.filter_map(|program| hosts.failure(program)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
