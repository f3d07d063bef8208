//! All-reduces to the optimum of networks whose hosts are coupled.

use fairlane_drum::coupled::{CoupledOptions, solve};
use fairlane_drum_file::RandomNetwork;

use crate::error::Error;
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::{Settings, Watch};

const SEED: u64 = 1;
const UTILITY: (f64, f64) = (0.5, 0.01);
const HOSTS: [usize; 3] = [100, 1000, 10_000];
const APPLICATIONS: [usize; 3] = [50, 500, 5000];
/// Flows up to which the smaller gap is asked for too: beyond, it takes minutes.
const SMALL: usize = 5_000_000;

/// Runs every size.
pub(crate) fn run(settings: Settings, watch: &dyn Watch) -> Result<Outcome, Error> {
    let mut rows = Rows::new(&[
        "flows",
        "all_reduces_to_1e-2",
        "gap",
        "all_reduces_to_1e-4",
        "objective",
        "bound",
    ]);
    let sizes = APPLICATIONS.iter().flat_map(|m| HOSTS.map(|n| (n, *m)));
    let sizes: Vec<_> = sizes
        .filter(|(n, m)| !settings.quick || n * m <= 50_000)
        .collect();
    let (mut wide, mut narrow) = (Vec::new(), Vec::new());
    for (part, (hosts, applications)) in sizes.iter().copied().enumerate() {
        watch.begin(&format!("{hosts}x{applications}"), part + 1, sizes.len());
        if watch.stopped() {
            return Err(Error::stopped());
        }
        let network = RandomNetwork::new(hosts, applications, UTILITY, SEED);
        let near = |tolerance| {
            let options = CoupledOptions {
                tolerance,
                ..CoupledOptions::default()
            };
            solve(&network, &options, &settings.threads)
        };
        let flows = hosts * applications;
        let first = near(1e-2)?;
        let second = (flows <= SMALL).then(|| near(1e-4)).transpose()?;
        wide.push((flows as f64, first.iterations as f64));
        narrow.extend(
            second
                .as_ref()
                .map(|found| (flows as f64, found.iterations as f64)),
        );
        let best = second.as_ref().unwrap_or(&first);
        let cells = [
            Cell::from(flows),
            Cell::from(first.iterations),
            Cell::from(first.relative_gap()),
            Cell::from(second.as_ref().map(|found| found.iterations)),
            Cell::from(best.objective),
            Cell::from(best.dual_bound),
        ];
        rows.push(format!("{hosts}x{applications}"), cells);
    }
    Ok(Outcome {
        rows,
        plots: vec![plot(wide, narrow)],
        notes: notes(),
        ..Outcome::default()
    })
}

fn plot(wide: Vec<(f64, f64)>, narrow: Vec<(f64, f64)>) -> Plot {
    let curve = |name: &str, mut points: Vec<(f64, f64)>| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = points
            .into_iter()
            .map(|(flows, count)| (libm::log10(flows), count))
            .collect();
        Curve {
            name: name.into(),
            points,
            published: false,
        }
    };
    Plot {
        file: "plot".into(),
        title: "All-reduces to a certified gap".into(),
        x: "flows, logarithm to base 10".into(),
        y: "all-reduces".into(),
        log: false,
        curves: vec![curve("gap 1e-2", wide), curve("gap 1e-4", narrow)],
    }
}

fn notes() -> Vec<String> {
    vec![
        "random traffic, a fifth of it to one host, two destinations for each flow, three core links; alpha 1/2, beta 0.01".into(),
        "an all-reduce sums a list of one number for each row over all hosts; gaps are certified by the bound".into(),
        format!("1e-4 is asked for up to {SMALL} flows; n = 10000, m = 5000 holds about 1 GB and takes minutes"),
    ]
}
