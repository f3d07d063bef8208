//! The states of a queue pair: which follow which, and what each permits.

use std::fmt::Write as _;

use fairlane_transport::{InvalidTransition, State};

#[test]
fn transitions_and_permissions_are_those_of_the_specification() {
    let mut table = String::from("from\\to ");
    for to in State::ALL {
        write!(table, "{:>6}", to.name()).expect("a string");
    }
    table.push_str("   permits\n");
    for from in State::ALL {
        write!(table, "{:<8}", from.name()).expect("a string");
        for to in State::ALL {
            let mark = if from.may_become(to) { "x" } else { "." };
            write!(table, "{mark:>6}").expect("a string");
        }
        let permits = [
            (from.takes_receives(), "receives"),
            (from.takes_requests(), "requests"),
            (from.hears(), "hears"),
            (from.sends(), "sends"),
        ];
        let names = permits
            .iter()
            .filter(|(yes, _)| *yes)
            .map(|(_, name)| *name);
        let names: Vec<_> = names.collect();
        writeln!(table, "   {}", names.join(" ")).expect("a string");
    }
    insta::assert_snapshot!(table.replace(" \n", "\n"));
}

#[test]
fn a_refused_transition_says_what_is_possible() {
    let error = InvalidTransition {
        from: State::Init,
        to: State::ReadyToSend,
    };
    insta::assert_snapshot!(error.to_string(), @"a queue pair in state INIT can't become RTS; possible: RESET INIT RTR ERR");
}
