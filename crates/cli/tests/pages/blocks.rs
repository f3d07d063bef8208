//! Code in pages of Markdown: blocks between fences, indented blocks, and commands between backticks.

/// A block of code.
pub(super) struct Block {
    /// What stands behind the fence; nothing of an indented block.
    pub(super) language: String,
    pub(super) text: String,
}

/// The blocks of a page, in order.
pub(super) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut fenced, mut indented) = (false, false);
    let mut blank = true;
    for line in page.lines() {
        let fence = line.trim_start().strip_prefix("```");
        if let Some(language) = fence {
            fenced = !fenced;
            indented = false;
            if fenced {
                blocks.push(Block {
                    language: language.to_owned(),
                    text: String::new(),
                });
            }
        } else if fenced {
            add(&mut blocks, line);
        } else if let Some(code) = line.strip_prefix("    ").filter(|_| blank || indented) {
            if !indented {
                blocks.push(Block {
                    language: String::new(),
                    text: String::new(),
                });
            }
            indented = true;
            add(&mut blocks, code);
        } else if !line.trim().is_empty() {
            indented = false;
        }
        blank = line.trim().is_empty();
    }
    blocks
}

fn add(blocks: &mut [Block], line: &str) {
    if let Some(block) = blocks.last_mut() {
        block.text.push_str(line);
        block.text.push('\n');
    }
}

/// Programs that lines of blocks begin with; other lines show what comes out.
const PROGRAMS: [&str; 11] = [
    "fairlane",
    "make",
    "cargo",
    "pip",
    "maturin",
    "python3",
    "mkdir",
    "tshark",
    "LD_LIBRARY_PATH=",
    ".",
    "git",
];

/// The commands of a page's indented blocks, without remarks; lines that end in a backslash are joined with the next.
pub(super) fn commands(page: &str) -> Vec<String> {
    let blocks = blocks(page)
        .into_iter()
        .filter(|block| block.language.is_empty());
    blocks
        .flat_map(|block| of_block(&block.text.replace("\\\n", " ")))
        .collect()
}

fn of_block(text: &str) -> Vec<String> {
    let prompted = text.lines().any(|line| line.starts_with("$ "));
    let command = |line: &str| match prompted {
        true => line.strip_prefix("$ ").map(str::to_owned),
        false => begins_with_program(line).then(|| line.to_owned()),
    };
    let commands = text.lines().filter_map(command);
    commands
        .map(|line| without_remark(&line).to_owned())
        .collect()
}

fn begins_with_program(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    PROGRAMS.iter().any(|name| match name.ends_with('=') {
        true => first.starts_with(name),
        false => first == *name,
    })
}

fn without_remark(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim_end()
}

/// Commands and subcommands that sentences name between backticks.
pub(super) fn inline(page: &str) -> Vec<String> {
    let spans = page.split('`').skip(1).step_by(2);
    let named = spans.filter(|span| span.starts_with("fairlane ") && !span.contains('\n'));
    named.map(subcommand).collect()
}

/// A command up to its first argument.
fn subcommand(command: &str) -> String {
    let is_name = |word: &&str| {
        word.chars()
            .all(|letter| letter.is_ascii_lowercase() || letter == '-')
            && !word.starts_with('-')
    };
    let mut words: Vec<&str> = command.split(' ').take_while(is_name).collect();
    let deep = ["drum", "import", "export"];
    let most = if words.get(1).is_some_and(|word| deep.contains(word)) {
        3
    } else {
        2
    };
    words.truncate(most);
    words.join(" ")
}

#[test]
fn commands_are_told_from_what_comes_out() {
    let page = "Text\n\n    $ fairlane check a # why\n    a: can be run\n\nMore:\n\n    fairlane run a \\\n        --out b\n    rate 5\n\nIn `fairlane drum solve FILE` and `fairlane run a`.\n\n```sh\nfairlane stat\n```\n";
    assert_eq!(
        commands(page),
        ["fairlane check a", "fairlane run a      --out b"]
    );
    assert_eq!(
        inline(page),
        ["fairlane drum solve", "fairlane run a"].map(|line| line.trim_end_matches(" a"))
    );
    assert_eq!(blocks(page)[2].language, "sh");
}
