//! Alone in its process, since it changes the working directory.

use std::path::Path;

use fairlane_scenario::load;

use crate::common::{Folder, refusal};

#[test]
fn files_called_like_sections_keep_their_place() {
    let folder = Folder::new("sections")
        .with(
            "topology.txt",
            "3 1 2\n2\n0 2 0Gbps 1us 0\n1 2 1Gbps 1us 0\n",
        )
        .with(
            "s.toml",
            "[topology]\nkind = \"file\"\npath = \"topology.txt\"",
        );
    std::env::set_current_dir(&folder.0).unwrap();
    let message = refusal(load(Path::new("s.toml"), &[], None));
    assert!(
        message.starts_with("error topology.txt:3: the rate"),
        "{message}"
    );
}
