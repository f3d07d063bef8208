//! Every attack under every scope, with the runs that each is compared with.

use fairlane_congestion::Scope;
use fairlane_drum::Workers as _;
use fairlane_fabric::{Control, Results, base_round_trip, messages, metrics};
use fairlane_scenario::{
    Attack, AttackKind, Error, HostSet, Loaded, Workload, seed_after, validate,
};
use fairlane_threads::Threads;
use fairlane_units::{Duration, MessageId, NodeId, Rate, TenantId, Time};

use crate::churn;
use crate::measure::{self, Measurement};
use crate::plan::Plan;
use crate::scene::host_rates;
use crate::verdict::{Row, Subject, Trial, verdict};

/// What is tried on a scenario.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The scenario, once for each congestion control.
    pub scenarios: Vec<Loaded>,
    /// The tenant that attacks, whatever `attacks` say.
    pub attacker: String,
    /// The attacks.
    pub attacks: Vec<Attack>,
    /// The scopes.
    pub scopes: Vec<Scope>,
    /// How many seeds, counted from the scenario's.
    pub seeds: u32,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The scenario without any attack.
    Plain,
    /// What the attacker's hosts do honestly instead.
    Honest,
    /// The attack.
    Attack,
    /// Messages to random destinations at the attack's goodput.
    Paced,
}

/// One run of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which of the scenarios.
    pub scenario: usize,
    /// The scope.
    pub scope: Scope,
    /// Which seed, counted from 0.
    pub seed: u32,
    /// Which of the attacks; nothing for the scenario without any.
    pub attack: Option<usize>,
    /// What it is for.
    pub role: Role,
}

/// Who waits for a suite.
pub trait Watch: Sync {
    /// Hears that a run has begun, number `number` of the `of` that are known by then.
    fn begin(&self, run: &Run, number: usize, of: usize);
    /// Hears how a run went. Runs end in any order.
    fn ended(&self, run: &Run, plan: &Plan, results: &Results);
    /// Whether to give up.
    fn stopped(&self) -> bool;
}

/// Nobody.
impl Watch for () {
    fn begin(&self, _run: &Run, _number: usize, _of: usize) {}

    fn ended(&self, _run: &Run, _plan: &Plan, _results: &Results) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// A run, and what came out. Of a paced run that can't be, why.
struct Task {
    run: Run,
    attack: Option<Attack>,
    outcome: Option<Result<Outcome, Error>>,
}

struct Outcome {
    measurement: Measurement,
    /// Which honest messages the attack has cut.
    cut: Vec<MessageId>,
}

impl Suite {
    /// The scopes that the scenarios can't have, and why.
    pub fn refused_scopes(&self) -> Vec<(Scope, Error)> {
        let refusal = |scope: Scope| {
            let mut scenarios = self.scenarios.iter();
            scenarios.find_map(|loaded| check_scope(loaded, scope).err())
        };
        let scopes = self.scopes.iter().copied();
        scopes
            .filter_map(|scope| Some((scope, refusal(scope)?)))
            .collect()
    }

    /// The attacks that can't be tried, by number, and why.
    ///
    /// # Errors
    /// If there is no such attacker, or no victim.
    pub fn refused(&self) -> Result<Vec<(usize, Error)>, Error> {
        let mut refused = Vec::new();
        for loaded in &self.scenarios {
            self.check_victims(loaded)?;
        }
        for (number, attack) in self.attacks.iter().enumerate() {
            if let Some(error) = self.refusal(attack) {
                refused.push((number, error));
            }
        }
        Ok(refused)
    }

    /// Why an attack can't be tried on one of the scenarios, with one of the seeds.
    fn refusal(&self, attack: &Attack) -> Option<Error> {
        let plan =
            |loaded: &Loaded, attack: &Attack| Plan::new(&self.changed(loaded, Some(attack))?);
        let tried = self.scenarios.iter().flat_map(|loaded| {
            (0..self.seeds.max(1)).flat_map(move |seed| {
                [true, false].map(|honest| plan(&seeded(loaded, seed), &honestly(attack, honest)))
            })
        });
        tried.filter_map(Result::err).next()
    }

    /// Runs all of it and gives a row for each scenario, scope and attack, in this order. Rows don't
    /// depend on `threads`. Figures that a run can't give are left out of its row.
    ///
    /// # Errors
    /// If a scenario can't have one of the scopes, if a run can't be built, if its results contradict themselves,
    /// or if `watch` stops it.
    pub fn run(&self, threads: Threads, watch: &dyn Watch) -> Result<Vec<Row>, Error> {
        for loaded in &self.scenarios {
            self.check_victims(loaded)?;
        }
        for loaded in &self.scenarios {
            for scope in self.compared_scopes() {
                check_scope(loaded, scope)?;
            }
        }
        let mut tasks = self.first_tasks();
        self.simulate(&mut tasks, 0, threads, watch)?;
        let (mut paced, mut unpaced) = self.paced_tasks(&tasks);
        self.simulate(&mut paced, tasks.len(), threads, watch)?;
        tasks.append(&mut paced);
        tasks.append(&mut unpaced);
        Ok(self.rows(&tasks))
    }

    /// The scopes that are run: those asked for, and `qp`, which prices are compared with.
    fn compared_scopes(&self) -> Vec<Scope> {
        let mut scopes = self.scopes.clone();
        if !scopes.contains(&Scope::Qp) {
            scopes.push(Scope::Qp);
        }
        scopes
    }

    /// Somebody other than the attacker must send something.
    fn check_victims(&self, loaded: &Loaded) -> Result<(), Error> {
        let attacker = self.attacker_of(loaded)?;
        let mut operations = loaded
            .scenario
            .workload
            .iter()
            .filter(|it| it.is_key_value());
        let theirs = |workload: &Workload| workload.tenant() != Some(&self.attacker);
        let mut sent = messages(loaded)?.into_iter();
        if sent.any(|message| message.tenant != attacker) || operations.any(theirs) {
            return Ok(());
        }
        let message = format!("no tenant but \"{}\" sends anything", self.attacker);
        let hint = "an attack needs a victim: give another [[tenant]] a workload";
        Err(Error::new("tenant", message, hint))
    }

    fn attacker_of(&self, loaded: &Loaded) -> Result<TenantId, Error> {
        let tenants = loaded.scenario.tenants();
        let mut numbered = (0..).zip(&tenants);
        let found = numbered.find(|(_, tenant)| tenant.name == self.attacker);
        found
            .map(|(number, _)| TenantId::new(number))
            .ok_or_else(|| {
                let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
                let message = format!("no tenant is called \"{}\"", self.attacker);
                Error::new(
                    "tenant",
                    message,
                    format!("the tenants are {}", names.join(", ")),
                )
            })
    }

    /// A scenario with an attack of this suite's attacker instead of its own.
    fn changed(&self, loaded: &Loaded, attack: Option<&Attack>) -> Result<Loaded, Error> {
        let mut loaded = loaded.clone();
        loaded.scenario.attack = attack.map(|attack| Attack {
            tenant: Some(self.attacker.clone()),
            ..attack.clone()
        });
        validate(&loaded.scenario, &loaded.inputs)?;
        Ok(loaded)
    }

    /// Everything but the paced runs, which need the goodput of the attacks.
    fn first_tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for scenario in 0..self.scenarios.len() {
            for scope in self.compared_scopes() {
                for seed in 0..self.seeds {
                    let run = Run {
                        scenario,
                        scope,
                        seed,
                        attack: None,
                        role: Role::Plain,
                    };
                    tasks.push(Task::new(run, None));
                    if self.scopes.contains(&scope) {
                        self.add_attacks(run, &mut tasks);
                    }
                }
            }
        }
        tasks
    }

    fn add_attacks(&self, run: Run, tasks: &mut Vec<Task>) {
        for (number, attack) in self.attacks.iter().enumerate() {
            let run = |role| Run {
                attack: Some(number),
                role,
                ..run
            };
            if !attack.is_transform() {
                tasks.push(Task::new(run(Role::Honest), Some(honestly(attack, true))));
            }
            // Whatever the scenario says: its `honest` is for single runs.
            tasks.push(Task::new(run(Role::Attack), Some(honestly(attack, false))));
        }
    }

    /// For each attack that rotates destinations, as much to random ones; and apart, those that can't be.
    fn paced_tasks(&self, done: &[Task]) -> (Vec<Task>, Vec<Task>) {
        let (mut tasks, mut failed) = (Vec::new(), Vec::new());
        for task in done {
            let Some(attack) = task
                .attack
                .as_ref()
                .filter(|_| task.run.role == Role::Attack)
            else {
                continue;
            };
            let Some(measured) = task.measurement().filter(|_| rotates(attack.kind)) else {
                continue;
            };
            let run = Run {
                role: Role::Paced,
                ..task.run
            };
            match self.paced(run, attack, measured) {
                Ok(paced) => tasks.push(Task::new(run, Some(paced))),
                Err(error) => failed.push(Task {
                    outcome: Some(Err(error)),
                    ..Task::new(run, None)
                }),
            }
        }
        (tasks, failed)
    }

    /// The honest tenant that sends as much as `attack` did to random destinations, in messages of its size.
    ///
    /// # Errors
    /// If that was nothing, or the scenario can't have it.
    fn paced(&self, run: Run, attack: &Attack, measured: &Measurement) -> Result<Attack, Error> {
        if measured.placed.is_zero() {
            let hint = "let it go on for longer";
            return Err(Error::new("attack", "nothing of it arrived", hint));
        }
        let loaded = seeded(&self.scenarios[run.scenario], run.seed);
        let posts = &measured.posts;
        let hosts = (posts.sources.len() as u64).max(1);
        let mut paced = Attack {
            rate: Some(measured.goodput / hosts),
            ..attack.of_kind(AttackKind::Paced)
        };
        if attack.kind == AttackKind::Churn {
            paced.piece = Some(churn::size(attack, base_round_trip(&loaded)?.bdp));
        }
        if attack.is_transform() {
            // What arrived, in the time in which it was posted.
            let rates = host_rates(&loaded);
            let line = posts.sources.iter().map(|host| rates[host.index()]).min();
            let line = line.unwrap_or_default().max(Rate::from_bps(1));
            let span = posts.last - posts.first;
            let needed = (measured.placed / hosts).serialization(line);
            let span = span.max(needed).max(Duration::from_us(1));
            paced.rate = Some(measure::rate(measured.placed, span) / hosts);
            paced.start = Some(posts.first - Time::ZERO);
            paced.duration = Some(span);
            paced.sources = Some(set(&posts.sources));
            paced.destinations = Some(set(&posts.destinations));
        }
        Plan::new(&self.changed(&loaded, Some(&paced))?)?;
        Ok(paced)
    }

    fn simulate(
        &self,
        tasks: &mut [Task],
        before: usize,
        threads: Threads,
        watch: &dyn Watch,
    ) -> Result<(), Error> {
        let of = before + tasks.len();
        threads.for_each(tasks, |index, task| {
            watch.begin(&task.run, before + index + 1, of);
            task.outcome = Some(self.simulate_one(task, watch));
        });
        for task in tasks {
            if let Some(Err(error)) = &task.outcome {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    fn simulate_one(&self, task: &Task, watch: &dyn Watch) -> Result<Outcome, Error> {
        if watch.stopped() {
            return Err(stopped());
        }
        let run = &task.run;
        let mut loaded = seeded(&self.scenarios[run.scenario], run.seed);
        loaded.scenario.congestion.scope = run.scope;
        let loaded = self.changed(&loaded, task.attack.as_ref())?;
        let mut plan = Plan::new(&loaded)?;
        let attack = run.attack.map(|number| &self.attacks[number]);
        if run.role == Role::Paced && attack.is_some_and(Attack::is_transform) {
            // It stands for messages of a workload: the run goes on as theirs does.
            plan.loaded.scenario.stop = loaded.scenario.stop;
            plan.window = None;
        }
        let results = plan.simulation()?.run(&mut |_| match watch.stopped() {
            true => Control::Interrupt,
            false => Control::Continue,
        });
        if watch.stopped() {
            return Err(stopped());
        }
        let lossless = metrics::is_lossless(&loaded.scenario, &results);
        let violations = metrics::check(&results, lossless);
        if !violations.is_empty() {
            let message = format!(
                "the results contradict themselves, which is a bug in fairlane: {}",
                violations.join("; ")
            );
            return Err(Error::new("attack", message, "please report it"));
        }
        watch.ended(run, &plan, &results);
        Ok(Outcome {
            measurement: Measurement::of(&plan, &results, self.attacker_of(&loaded)?),
            cut: plan.cut,
        })
    }

    fn rows(&self, tasks: &[Task]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (scenario, loaded) in self.scenarios.iter().enumerate() {
            for scope in &self.scopes {
                for (number, attack) in self.attacks.iter().enumerate() {
                    let trial = |seed| trial(tasks, (scenario, *scope, seed, number));
                    let trials: Vec<Trial<'_>> = (0..self.seeds).filter_map(trial).collect();
                    let subject = Subject {
                        attack: attack.kind.name(),
                        scope: scope.name(),
                        controller: loaded.scenario.congestion.algorithm.name(),
                        rotates: rotates(attack.kind),
                    };
                    rows.push(verdict(subject, &trials));
                }
            }
        }
        rows
    }
}

/// The runs of an attack with one seed.
fn trial(
    tasks: &[Task],
    (scenario, scope, seed, attack): (usize, Scope, u32, usize),
) -> Option<Trial<'_>> {
    let task = |scope, attack, role| {
        let run = Run {
            scenario,
            scope,
            seed,
            attack,
            role,
        };
        tasks.iter().find(|task| task.run == run)
    };
    let find = |scope, attack, role| task(scope, attack, role)?.outcome();
    let paced = task(scope, Some(attack), Role::Paced);
    let plain = find(scope, None, Role::Plain)?;
    let attacked = find(scope, Some(attack), Role::Attack)?;
    let honest = find(scope, Some(attack), Role::Honest).unwrap_or(plain);
    Some(Trial {
        attack: &attacked.measurement,
        cut: &attacked.cut,
        honest: &honest.measurement,
        paced: paced.and_then(Task::measurement),
        unpaced: paced.and_then(Task::failure),
        plain: &plain.measurement,
        plain_qp: &find(Scope::Qp, None, Role::Plain)?.measurement,
    })
}

impl Task {
    const fn new(run: Run, attack: Option<Attack>) -> Self {
        Self {
            run,
            attack,
            outcome: None,
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()?.as_ref().ok()
    }

    fn measurement(&self) -> Option<&Measurement> {
        Some(&self.outcome()?.measurement)
    }

    fn failure(&self) -> Option<&Error> {
        self.outcome.as_ref()?.as_ref().err()
    }
}

/// Whether an attack lives from changing destinations.
const fn rotates(kind: AttackKind) -> bool {
    matches!(
        kind,
        AttackKind::ShuffledOverlay | AttackKind::Churn | AttackKind::RotatingIncast
    )
}

/// The attack, or what its hosts do honestly instead.
fn honestly(attack: &Attack, honest: bool) -> Attack {
    Attack {
        honest,
        ..attack.clone()
    }
}

/// Whether a scenario can have a scope.
fn check_scope(loaded: &Loaded, scope: Scope) -> Result<(), Error> {
    let mut scenario = loaded.scenario.clone();
    scenario.congestion.scope = scope;
    validate(&scenario, &loaded.inputs)
}

fn set(hosts: &[NodeId]) -> HostSet {
    let numbers: Vec<String> = hosts.iter().map(NodeId::to_string).collect();
    HostSet(numbers.join(","))
}

/// A scenario with the seed that is so many behind its own.
fn seeded(loaded: &Loaded, seed: u32) -> Loaded {
    let mut loaded = loaded.clone();
    loaded.scenario.seed = seed_after(loaded.scenario.seed, seed.into());
    loaded
}

fn stopped() -> Error {
    Error::new("attack", "was interrupted", "")
}
