//! What is told of a run while it goes on.

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Ending, Results, Simulation};
use fairlane_scenario::Loaded;
use fairlane_units::Time;

use crate::common::{flows, loaded, random, star};

/// Runs a case; returns its results, and what it would have left behind at each report of progress.
fn looked_at(case: &Loaded, threads: usize) -> (Results, Vec<Results>) {
    let mut looks = Vec::new();
    let simulation = Simulation::new(case).unwrap();
    let (results, _) = simulation.run_on(threads, &mut |progress| {
        looks.push(progress.results());
        Control::Continue
    });
    (results, looks)
}

#[test]
fn a_look_is_what_an_interruption_would_leave() {
    let fault = "[[faults.link]]\nbetween = [2, 3]\ndown = \"1ms\"\nup = \"2ms\"\n";
    let messages = flows(&[(0, 1, 200_000_000, "0ns"), (1, 2, 20_000, "5us")]);
    let case = loaded(&(star(3) + &messages + fault), &[]);
    let (results, looks) = looked_at(&case, 1);
    assert!(looks.len() > 2, "{} looks", looks.len());
    let mut reports = 0;
    let cut = Simulation::new(&case).unwrap().run(&mut |_| {
        reports += 1;
        match reports {
            2 => Control::Interrupt,
            _ => Control::Continue,
        }
    });
    assert_eq!(format!("{cut:?}"), format!("{:?}", looks[1]));
    assert_eq!(cut.totals.ending, Ending::Interrupted);
    for look in &looks {
        assert_eq!(check(look, true), Vec::<String>::new());
        assert!(
            look.link_changes
                .iter()
                .all(|it| it.time <= look.totals.end)
        );
    }
    let times = results.link_changes.iter().map(|it| (it.time, it.up));
    let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
    assert_eq!(times.collect::<Vec<_>>(), [(ms(1), false), (ms(2), true)]);
    let ports: Vec<_> = results.link_changes.iter().map(|it| it.port).collect();
    let port = &results.ports[ports[0].index()];
    let mut ends = [port.node.get(), port.peer_node.get()];
    ends.sort_unstable();
    assert_eq!((ends, ports[0]), ([2, 3], ports[1]));
}

#[test]
fn looking_changes_nothing() {
    for seed in 0..24 {
        let case = loaded(&random::scenario(seed), &[]);
        let threads = 1 + seed as usize % 3;
        let simulation = Simulation::new(&case).unwrap();
        let (plain, _) = simulation.run_on(threads, &mut |_| Control::Continue);
        let (results, looks) = looked_at(&case, threads);
        assert!(
            format!("{plain:?}") == format!("{results:?}"),
            "seed {seed} on {threads} threads"
        );
        let ends: Vec<_> = looks.iter().map(|look| look.totals.end).collect();
        assert!(ends.is_sorted(), "{ends:?}");
        for look in &looks {
            let rows = look.series.sent.len().checked_div(look.series.ports);
            assert_eq!(look.series.sent.len(), look.series.queue.len());
            assert!(rows.is_none_or(|rows| rows * look.series.ports == look.series.sent.len()));
            let done = look.messages.iter().filter(|it| it.finish.is_some());
            assert!(done.count() <= results.messages.len());
        }
    }
}
