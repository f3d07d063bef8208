//! The traffic of a run with an attack.

use fairlane_fabric::{MessageSpec, Simulation, messages};
use fairlane_scenario::{Attack, AttackKind, Error, Loaded, validate};
use fairlane_units::{MessageId, TenantId, Time};

use crate::scene::{Scene, Window};
use crate::{
    cache_flood, churn, nic_hog, paced, parallel, pfc_storm, pulse, rotating_incast,
    shuffled_overlay, staggered,
};

/// A scenario with its attack carried out, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario with what the attack changes in it: its end, pauses, workloads of connections that
    /// stay open.
    pub loaded: Loaded,
    /// The messages of all tenants, in order of start; a message's place is its
    /// [number in the results](fairlane_fabric::MessageRecord::id).
    pub messages: Vec<MessageSpec>,
    /// For each message, the honest message that it is or is a piece of, by the place of that, or of its first
    /// part, among the [messages of the workloads](fairlane_fabric::messages); nothing for traffic of the
    /// attack's own.
    pub jobs: Vec<Option<MessageId>>,
    /// Which honest messages the attack has cut, in ascending order.
    pub cut: Vec<MessageId>,
    /// The attacker's number, if there is an attack.
    pub attacker: Option<TenantId>,
    /// When traffic of the attack's own is sent.
    pub window: Option<Window>,
}

impl Plan {
    /// Carries out the attack of a scenario; without one, the messages are those of its workloads.
    ///
    /// # Errors
    /// If topology and workloads don't fit together, or the attack has nothing to work on.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let honest = messages(loaded)?;
        let Some(attack) = &loaded.scenario.attack else {
            return Ok(Draft::of(&honest, None).finish(loaded.clone(), None, None));
        };
        let scene = Scene::new(loaded, attack, &honest)?;
        let idle = (!attack.is_transform()).then_some(scene.tenant);
        let mut draft = Draft::of(&honest, idle);
        let mut changed = loaded.clone();
        let window = if attack.is_transform() {
            if !attack.honest {
                transform(&scene, &mut draft)?;
            }
            None
        } else {
            let window = scene.window()?;
            changed.scenario.stop = Some(window.end - Time::ZERO);
            add(&scene, window, (&mut draft, &mut changed))?;
            validate(&changed.scenario, &changed.inputs)?;
            Some(window)
        };
        Ok(draft.finish(changed, Some(scene.tenant), window))
    }

    /// The simulation of this traffic.
    ///
    /// # Errors
    /// If topology, messages or buffers don't fit together.
    pub fn simulation(&self) -> Result<Simulation, Error> {
        Simulation::with_changes(&self.loaded, self.messages.clone(), &self.jobs)
    }
}

fn transform(scene: &Scene<'_>, draft: &mut Draft) -> Result<(), Error> {
    match scene.attack.kind {
        AttackKind::Parallel => parallel::cut(scene, draft),
        AttackKind::Staggered => staggered::cut(scene, draft),
        _ => shuffled_overlay::cut(scene, draft),
    }
}

/// Adds traffic of the attack's own.
fn add(
    scene: &Scene<'_>,
    window: Window,
    (draft, loaded): (&mut Draft, &mut Loaded),
) -> Result<(), Error> {
    let Attack { kind, honest, .. } = *scene.attack;
    match kind {
        AttackKind::Parallel | AttackKind::Staggered => Ok(()),
        AttackKind::PfcStorm => pfc_storm::add(scene, window, (draft, loaded)),
        AttackKind::CacheFlood => cache_flood::add(scene, window, loaded),
        AttackKind::Pulse => pulse::add(scene, window, draft),
        AttackKind::Paced => paced::add(scene, window, draft),
        AttackKind::ShuffledOverlay => shuffled_overlay::add(scene, window, draft),
        AttackKind::NicHog => nic_hog::add(scene, window, draft),
        AttackKind::Churn if honest => {
            draft.add_bulk(scene, window, &scene.partners()?);
            Ok(())
        }
        AttackKind::Churn => churn::add(scene, window, draft),
        AttackKind::RotatingIncast => rotating_incast::add(scene, window, draft),
    }
}

/// Messages in the order in which they were thought of.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    messages: Vec<(MessageSpec, Option<MessageId>)>,
    cut: Vec<MessageId>,
}

impl Draft {
    /// The honest messages but those of tenant `idle`.
    fn of(honest: &[MessageSpec], idle: Option<TenantId>) -> Self {
        let mut messages = Vec::with_capacity(honest.len());
        let mut places = Vec::with_capacity(honest.len());
        for (message, number) in honest.iter().zip((0..).map(MessageId::new)) {
            let job = message.part_of.unwrap_or(number);
            places.push(numbered(messages.len()));
            if Some(message.tenant) != idle {
                // A message waits for another of its workload, and so of its tenant. It joins none.
                let moved = |other: MessageId| places[other.index()];
                let message = MessageSpec {
                    after: message.after.map(moved),
                    part_of: message.part_of.map(moved),
                    ..*message
                };
                messages.push((message, Some(job)));
            }
        }
        Self {
            messages,
            cut: Vec::new(),
        }
    }

    /// Adds a message of the attack's own and returns what others name it by.
    pub(crate) fn push(&mut self, message: MessageSpec) -> MessageId {
        self.messages.push((message, None));
        numbered(self.messages.len() - 1)
    }

    /// When the last message begins, if it waits for none or what it waits for arrives at its start.
    pub(crate) fn last_due(&self) -> Time {
        let due = |(it, _): &(MessageSpec, Option<MessageId>)| it.start.saturating_add(it.delay);
        self.messages.iter().map(due).max().unwrap_or_default()
    }

    /// One message from each source to its partner that takes longer than the window.
    pub(crate) fn add_bulk(
        &mut self,
        scene: &Scene<'_>,
        window: Window,
        partners: &[(fairlane_units::NodeId, fairlane_units::NodeId)],
    ) {
        for (source, destination) in partners {
            self.push(MessageSpec {
                source: *source,
                destination: *destination,
                size: scene.backlog(*source, window),
                ..scene.template(window.start)
            });
        }
    }

    /// Replaces each honest message for which there are `pieces` by those; without any it vanishes, which is for
    /// parts after the first of a message that is cut as a whole. What waited for the message waits for all
    /// pieces. [`MessageSpec::after`] of a piece names another piece of the message, counted from 0, but never
    /// the last; pieces without wait for what the message waited for.
    pub(crate) fn replace(
        &mut self,
        pieces: impl Fn(MessageId, &MessageSpec) -> Option<Vec<MessageSpec>>,
    ) {
        let before = std::mem::take(&mut self.messages);
        // Of each message, what waits for it waits for; and where it is, unless it was cut.
        let mut last: Vec<MessageId> = Vec::with_capacity(before.len());
        let mut whole = Vec::new();
        for (message, job) in before {
            let number = numbered(last.len());
            let parts = pieces(number, &message);
            let predecessor = message.after.map(|after| last[after.index()]);
            let first = numbered(self.messages.len());
            whole.push(parts.is_none().then_some(first));
            let Some(parts) = parts else {
                let whole_of = |part: MessageId| whole.get(part.index()).copied().flatten();
                let message = MessageSpec {
                    after: predecessor,
                    part_of: message.part_of.and_then(whole_of),
                    ..message
                };
                self.messages.push((message, job));
                last.push(first);
                continue;
            };
            if parts.is_empty() {
                let of = message.part_of.unwrap_or(number);
                last.push(last.get(of.index()).copied().unwrap_or(first));
                continue;
            }
            self.cut.push(number);
            last.push(self.push_pieces(parts, job, predecessor));
        }
    }

    /// Adds the pieces of a message, and returns whom to wait for if all of them are to have arrived.
    fn push_pieces(
        &mut self,
        parts: Vec<MessageSpec>,
        job: Option<MessageId>,
        predecessor: Option<MessageId>,
    ) -> MessageId {
        let first = self.messages.len();
        let last = numbered(first + parts.len() - 1);
        for (at, part) in (first..).zip(parts) {
            let number = numbered(at);
            let piece = |of: MessageId| numbered(first + of.index());
            let piece = MessageSpec {
                after: part.after.map(piece).or(predecessor),
                joins: (number != last).then_some(last),
                // To the NIC each is a message like any other, on a queue pair of its own.
                part_of: None,
                connection: None,
                ..part
            };
            self.messages.push((piece, job));
        }
        last
    }

    /// Sorts by start; of equal start, messages stay in order.
    fn finish(self, loaded: Loaded, attacker: Option<TenantId>, window: Option<Window>) -> Plan {
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|index| self.messages[*index].0.start);
        let mut places = vec![MessageId::new(0); self.messages.len()];
        for (place, index) in order.iter().enumerate() {
            places[*index] = numbered(place);
        }
        let mut plan = Plan {
            loaded,
            messages: Vec::with_capacity(order.len()),
            jobs: Vec::with_capacity(order.len()),
            cut: self.cut,
            attacker,
            window,
        };
        for index in order {
            let (message, job) = self.messages[index];
            let moved = |other: MessageId| places[other.index()];
            plan.messages.push(MessageSpec {
                after: message.after.map(moved),
                joins: message.joins.map(moved),
                part_of: message.part_of.map(moved),
                ..message
            });
            plan.jobs.push(job);
        }
        plan
    }
}

fn numbered(index: usize) -> MessageId {
    MessageId::new(u32::try_from(index).unwrap_or(u32::MAX))
}
