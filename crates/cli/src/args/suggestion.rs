//! What a mistyped option most likely means.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Parser as _};

use super::Arguments;

/// Reads the command line; help, version and usage errors end the process.
pub(crate) fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|mut error| {
        let command = Arguments::command();
        if error.kind() == ErrorKind::UnknownArgument
            && let Some(option) = meant(&error, called(&command))
        {
            let option = ContextValue::String(option);
            error.insert(ContextKind::SuggestedArg, option);
        }
        error.exit()
    })
}

/// The subcommand that the command line names.
fn called(command: &Command) -> &Command {
    let words = std::env::args_os().skip(1);
    words.fold(command, |command, word| {
        command.find_subcommand(word).unwrap_or(command)
    })
}

/// The option that an unknown one most likely is. Names that are accepted beside the documented one count, but that one is suggested.
fn meant(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let unknown = unknown.strip_prefix("--")?;
    let names = |option: &clap::Arg| {
        let own = option.get_long().map(str::to_owned);
        let others = option.get_all_aliases().unwrap_or_default();
        let others = others.into_iter().map(str::to_owned);
        own.into_iter().chain(others).collect::<Vec<_>>()
    };
    let options: Vec<_> = command
        .get_arguments()
        .map(|option| (option.get_long(), names(option)))
        .collect();
    let all = options
        .iter()
        .flat_map(|(_, names)| names)
        .map(String::as_str);
    let nearest = fairlane_scenario::nearest(unknown, all)?;
    let (long, _) = options
        .iter()
        .find(|(_, names)| names.iter().any(|name| name == nearest))?;
    long.map(|long| format!("--{long}"))
}
