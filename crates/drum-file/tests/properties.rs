//! Whatever is read is refused with a place or has an answer that keeps its own promises.

use fairlane_drum::{Application, Fairness, Sequential, Table, Utility};
use fairlane_drum_file::{Document, HostInputs, Inputs, Problem, Request};
use proptest::prelude::*;

fn application() -> impl Strategy<Value = Application> {
    (
        0.1f64..3.0,
        0.2f64..5.0,
        0.1f64..4.0,
        0.1f64..4.0,
        proptest::option::of(0.5f64..9.0),
    )
        .prop_map(
            |(weight, completions, bytes, poll_cost, maximum)| Application {
                weight,
                completions,
                bytes,
                poll_cost,
                maximum: maximum.unwrap_or(f64::INFINITY),
                ..Application::default()
            },
        )
}

fn document() -> impl Strategy<Value = Document> {
    let utility = (
        prop_oneof![Just(0.5), Just(1.0), Just(2.0), 0.2f64..4.0],
        0.0f64..0.5,
    );
    (
        proptest::collection::vec(application(), 1..9),
        utility,
        0.5f64..20.0,
        0.5f64..20.0,
    )
        .prop_map(|(applications, (alpha, latency), egress, poll)| {
            let mut table = Table::default();
            applications
                .into_iter()
                .for_each(|application| table.push(application));
            let utility = Utility {
                fairness: Fairness::Alpha(alpha),
                latency,
            };
            let inputs = HostInputs::of(&table, utility, egress, poll);
            Document {
                name: Some("random".into()),
                problem: Inputs::HostFixed(inputs),
            }
        })
}

/// Reads a text and solves what it says; a refusal must say where and what.
fn solve(text: &str) {
    let done =
        Problem::read(text, &Request::default()).and_then(|problem| problem.solve(&Sequential));
    match done {
        Ok(answer) => {
            let (value, bound) = (
                answer.objective.unwrap_or(0.0),
                answer.dual_bound.unwrap_or(f64::INFINITY),
            );
            assert!(
                bound >= value - 1e-9 * value.abs(),
                "{bound} below {value}: {text}"
            );
            assert!(
                answer.x.iter().chain(&answer.z).all(|rate| *rate >= 0.0),
                "{text}"
            );
            assert_eq!(
                (answer.rows.len(), answer.x.len()),
                (answer.prices.len(), answer.z.len())
            );
        }
        Err(error) => assert!(
            !error.place.is_empty() && !error.message.is_empty(),
            "{text}"
        ),
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(document in document()) {
        let text = serde_json::to_string(&document).expect("it has a JSON form");
        prop_assert_eq!(Document::read(&text), Ok(document));
    }

    #[test]
    fn problems_have_answers(document in document()) {
        let problem = Problem::new(document, &Request::default()).expect("a problem without mistake");
        let answer = problem.solve(&Sequential).expect("it has a solution");
        prop_assert!(answer.relative_gap.is_some_and(|gap| gap < 1e-9), "{answer:?}");
    }

    #[test]
    fn damaged_documents_never_panic(document in document(), at in any::<prop::sample::Index>(), with in "[-0-9.eEkn\\[\\]{}\",: ]{0,3}", cut in 0usize..4) {
        let text = serde_json::to_string(&document).expect("it has a JSON form");
        let first = at.index(text.len());
        let last = (first + cut).min(text.len());
        solve(&format!("{}{with}{}", &text[..first], &text[last..]));
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,60}") {
        solve(&text);
    }

    #[test]
    fn extreme_numbers_are_refused_or_solved(value in any::<f64>(), key in prop::sample::select(vec!["Q", "C", "alpha", "beta", "weight", "a", "bytes_per_wqe", "poll_cost", "x_min", "x_max", "k"])) {
        let column = |name: &str, plain: f64| if name == key { value } else { plain };
        let text = serde_json::json!({"kind": "host_fixed", "inputs": {
            "alpha": column("alpha", 0.5), "beta": column("beta", 0.1), "weight": [column("weight", 1.0), 1.0],
            "a": [column("a", 1.0), 2.0], "bytes_per_wqe": [column("bytes_per_wqe", 1.0), 2.0],
            "poll_cost": [1.0, column("poll_cost", 1.0)], "Q": column("Q", 3.0), "C": column("C", 3.0),
            "x_min": [column("x_min", 0.0), 0.0], "x_max": [column("x_max", 2.0), 4.0], "k": column("k", 1.0)}});
        solve(&text.to_string());
    }
}
