//! What isolation costs honest tenants, in a part of the grid and where messages wait for each other.

use std::path::Path;

use fairlane_attacks::Plan;
use fairlane_experiments::{Outcome, Settings, Watch, find, map_svg};
use fairlane_fabric::Control;
use fairlane_scenario::load;
use fairlane_threads::Threads;

struct Silent;

impl Watch for Silent {
    fn begin(&self, _: &str, _: usize, _: usize) {}

    fn stopped(&self) -> bool {
        false
    }
}

fn value(outcome: &Outcome, run: &str, column: &str) -> Option<f64> {
    let cell = outcome.rows.cell(run, column).expect("a run and a column");
    cell.value()
}

/// What the grid promises, with the room that a short run needs.
#[test]
fn the_grid_is_cheap_where_it_is_small() {
    let settings = Settings {
        quick: true,
        threads: Threads::new(2),
    };
    let experiment = find("s2-price").expect("it is there");
    let outcome = experiment.run(settings, &Silent).expect("it runs");
    assert!(outcome.passes(), "{:?}", outcome.checks);
    for fabric in ["fat-tree", "leaf-spine"] {
        for controller in ["dcqcn", "hpcc"] {
            let run = |traffic: &str, scope: &str| {
                format!("1of16-{traffic}-{fabric}-{controller}-{scope}")
            };
            let name = run("storage-50", "tenant");
            let figure = |column| value(&outcome, &name, column);
            let price = figure("p99_s_over_qp").expect("thousands of messages");
            assert!(price <= 1.15, "{name}: {price}");
            let base = value(&outcome, &run("storage-50", "qp"), "p99_s").expect("a figure");
            assert!((figure("p99_s").expect("a figure") / base - price).abs() < 1e-9);
            assert_eq!(
                figure("p99_s_over_pair"),
                None,
                "the reduced size lacks pair"
            );
            assert_eq!(
                figure("p99_l_over_qp"),
                None,
                "too few messages are that long"
            );
            assert_eq!(
                value(&outcome, &run("storage-50", "qp"), "p99_s_over_qp"),
                None
            );
            let name = run("allreduce-2", "tenant");
            let price = value(&outcome, &name, "completion_us_over_qp").expect("it ends");
            assert!(price <= 1.1, "{name}: {price}");
        }
    }
    let map = outcome.maps.first().expect("a map");
    assert_eq!((map.rows.len(), map.columns.len()), (3, 4));
    let (traffic, cells) = &map.rows[2];
    let of_row = value(
        &outcome,
        "1of16-allreduce-2-fat-tree-hpcc-tenant",
        "completion_us_over_qp",
    );
    assert_eq!(
        (traffic.as_str(), map.columns[1].as_str()),
        ("allreduce-2", "fat-tree-hpcc-1of16")
    );
    assert_eq!(cells[1], of_row);
    assert!(map_svg(map).is_some());
}

/// Steps wait for each other here: whoever bunches the messages of a host makes all others idle.
#[test]
fn a_ring_all_reduce_takes_as_long_under_scope_tenant() {
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/allreduce-leaf-spine.toml"
    ));
    for controller in ["dcqcn", "hpcc"] {
        let micros = |scope: &str| {
            let set = ["algorithm", "scope"].into_iter().zip([controller, scope]);
            let overrides: Vec<_> = set
                .map(|(key, value)| format!("congestion.{key}={value}"))
                .collect();
            let loaded = load(path, &overrides, None).expect("a scenario");
            let plan = Plan::new(&loaded).expect("traffic");
            let simulation = plan.simulation().expect("a fabric");
            let results = simulation.run(&mut |_| Control::Continue);
            let finishes = results.messages.iter().map(|message| message.finish);
            let finishes: Option<Vec<_>> = finishes.collect();
            let last = finishes.and_then(|all| all.into_iter().max());
            (last.expect("all end") - results.totals.first_start).as_secs_f64() * 1e6
        };
        let (alone, shared) = (micros("qp"), micros("tenant"));
        assert!(
            shared <= 1.1 * alone,
            "{controller}: {shared} us, per queue pair {alone} us"
        );
    }
}
