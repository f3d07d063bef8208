//! Training of a model that is divided among hosts.
//!
//! Tensor ranks are neighbours, then data ranks, then stages: rank = (stage x data + replica) x tensor + part. Stages take turns
//! forwards and backwards as in PipeDream's one-forward-one-backward (Narayanan et al., SOSP 2019): stage s begins with pipeline - s - 1
//! micro-batches forwards.

use fairlane_program::pattern::is_possible;
use fairlane_program::{self as program, Algorithm, Operation, Program, Work};
use fairlane_units::{Bytes, Duration};

use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use super::ranks::{self, Placed};
use crate::collective::{CollectiveAlgorithm, CollectiveKind, Layer, data_ranks};
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::rules::{BYTE, LARGEST};
use crate::section::{Check, number};

/// Operations of all ranks of a training.
const MOST_OPERATIONS: u64 = 10_000_000;

workload! {
    /// Training of a model by data, tensor and pipeline parallelism: tensor ranks are neighbours, then data ranks, then
    /// pipeline stages.
    Training [hosts] {
        /// Layers of the model, in order.
        layers: Vec<Layer> => table,
        /// Steps of the optimizer.
        steps: u32 = "number::<1, u32>" => positive,
        /// Micro-batches of each step, forwards and backwards in turn (1F1B).
        micro_batches: u32 = "number::<1, u32>" => positive,
        /// Ranks that share each layer.
        tensor: u32 = "number::<1, u32>" => positive,
        /// Stages, among which the layers are divided.
        pipeline: u32 = "number::<1, u32>" => positive,
        /// Neighbouring data ranks that exchange tokens.
        expert: u32 = "number::<1, u32>" => positive,
        /// Bytes of a parameter's gradient.
        gradient_bytes [1, 8]: u32 = "number::<2, u32>",
        /// Gradients are reduced in buckets of this size.
        bucket: Bytes = "bucket" => within(BYTE, LARGEST),
        /// Steps in which gradients, and activations of tensor ranks, are reduced.
        algorithm: CollectiveAlgorithm = "CollectiveAlgorithm::default",
        /// Time that the optimizer computes once all gradients are reduced.
        optimizer: Duration = "Duration::default" => span,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part; those beyond `tensor` times `pipeline` are data ranks.
        hosts: HostSet = "HostSet::default",
    } + class + rank + sends + owner & paths
}

fn bucket() -> Bytes {
    Bytes::new(25 << 20)
}

impl Kind for Training {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        None
    }

    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let count = hosts.len() as u32;
        let data = data_ranks(count, [self.tensor, self.pipeline, self.expert], |key| {
            context.key(key)
        })?;
        let layers = self.layers.iter();
        let all: Vec<&Layer> = layers
            .flat_map(|it| std::iter::repeat_n(it, it.count as usize))
            .collect();
        let model = Model {
            layers: &all,
            steps: self.steps,
            batches: self.micro_batches,
            tensor: self.tensor,
            data,
            pipeline: self.pipeline,
            expert: self.expert,
            gradient_bytes: u64::from(self.gradient_bytes),
            bucket: self.bucket.get(),
            algorithm: self.algorithm.program(1),
            optimizer: self.optimizer,
        };
        let program = Program {
            ranks: (0..count)
                .map(|rank| Rank::new(&model, rank).operations())
                .collect(),
            groups: model.groups(),
        };
        let template = MessageSpec {
            delay: self.send_latency,
            ..context.template(self.verb, self.class, self.start)
        };
        messages.steps.recorded.push(context.index);
        let placed = Placed {
            key: "layers",
            program: &program,
            hosts: &hosts,
            channels: self.channels,
        };
        placed.add(context, &template, messages)
    }

    fn heading(&self, _: &dyn Figures) -> String {
        format!(
            "training for {} steps, {} tensor ranks, {} stages",
            self.steps, self.tensor, self.pipeline
        )
    }
}

fn check(context: &Context<'_>, it: &Training) -> Check {
    let pipeline = it.pipeline;
    let count = ranks::count(context, it.verb, &it.hosts)?;
    let all_reduce = CollectiveKind::AllReduce.program(0);
    ensure!(is_possible(all_reduce, it.algorithm.program(0)), context.key("algorithm"),
        "isn't one for all-reduce without further figures, expected another";
        "write \"ring\", \"tree\" or \"halving-doubling\"");
    data_ranks(count, [it.tensor, pipeline, it.expert], |key| {
        context.key(key)
    })?;
    ensure!(!it.layers.is_empty(), context.key("layers"), "has none, expected one or more";
        "write `layers = [{{ count = 8, parameters = ..., activation = ..., forward = ..., \
        backward = ... }}]`");
    let depth: u64 = it.layers.iter().map(|layer| u64::from(layer.count)).sum();
    ensure!(depth >= u64::from(pipeline), context.key("pipeline"),
        "is {pipeline} stages of {depth} layers, expected a layer for each at least";
        "lower it, or add layers");
    let batches = u64::from(it.steps).saturating_mul(u64::from(it.micro_batches));
    let operations = u64::from(count)
        .saturating_mul(batches)
        .saturating_mul(depth * 8 / u64::from(pipeline) + 8);
    ensure!(operations <= MOST_OPERATIONS, context.key("steps"),
        "about {operations} operations, expected at most {MOST_OPERATIONS}";
        "train fewer steps, micro-batches or layers");
    context.in_all("steps", it.steps, step(it))
}

/// What a rank with all layers computes in a step.
fn step(it: &Training) -> Duration {
    let spans = it.layers.iter().map(|layer| {
        let span = u128::from((layer.forward + layer.backward).as_ps());
        span * u128::from(layer.count) * u128::from(it.micro_batches)
    });
    let all = spans.sum::<u128>() + u128::from(it.optimizer.as_ps());
    Duration::from_ps(u64::try_from(all).unwrap_or(u64::MAX))
}

/// The model, and how it is divided.
struct Model<'a> {
    layers: &'a [&'a Layer],
    steps: u32,
    batches: u32,
    tensor: u32,
    data: u32,
    pipeline: u32,
    expert: u32,
    gradient_bytes: u64,
    bucket: u64,
    algorithm: Algorithm,
    optimizer: Duration,
}

impl Model<'_> {
    fn rank(&self, stage: u32, replica: u32, part: u32) -> u32 {
        (stage * self.data + replica) * self.tensor + part
    }

    /// Tensor groups by stage and replica, then data groups by stage and part, then expert groups by stage, part and place among the replicas.
    fn groups(&self) -> Vec<Vec<u32>> {
        let mut groups = Vec::new();
        for stage in 0..self.pipeline {
            for replica in 0..self.data {
                groups.push(
                    (0..self.tensor)
                        .map(|part| self.rank(stage, replica, part))
                        .collect(),
                );
            }
        }
        for size in [self.data, self.expert] {
            for stage in 0..self.pipeline {
                for part in 0..self.tensor {
                    let all: Vec<u32> = (0..self.data)
                        .map(|replica| self.rank(stage, replica, part))
                        .collect();
                    groups.extend(all.chunks(size as usize).map(<[u32]>::to_vec));
                }
            }
        }
        groups
    }
}

/// One rank, whose operations are found one by one.
struct Rank<'a> {
    model: &'a Model<'a>,
    stage: u32,
    replica: u32,
    part: u32,
    layers: &'a [&'a Layer],
    /// What the stage before hands over.
    before: Option<&'a Layer>,
    all: Vec<Operation>,
    /// What comes next waits for these.
    last: Vec<u32>,
    /// The reduction of the bucket before.
    reduced: Option<u32>,
    step: u32,
}

impl<'a> Rank<'a> {
    fn new(model: &'a Model<'a>, rank: u32) -> Self {
        let stage = rank / (model.data * model.tensor);
        let depth = model.layers.len();
        let begin = |stage: u32| {
            let (stage, stages) = (stage as usize, model.pipeline as usize);
            stage * (depth / stages) + stage.min(depth % stages)
        };
        Self {
            model,
            stage,
            replica: rank / model.tensor % model.data,
            part: rank % model.tensor,
            layers: &model.layers[begin(stage)..begin(stage + 1)],
            before: begin(stage).checked_sub(1).map(|at| model.layers[at]),
            all: Vec::new(),
            last: Vec::new(),
            reduced: None,
            step: 0,
        }
    }

    fn operations(mut self) -> Vec<Operation> {
        let batches = self.model.batches;
        let ahead = (self.model.pipeline - self.stage - 1).min(batches);
        for step in 0..self.model.steps {
            self.step = step;
            (0..ahead).for_each(|batch| self.forward(batch));
            for batch in 0..batches {
                if ahead + batch < batches {
                    self.forward(ahead + batch);
                }
                self.backward(batch);
            }
            self.last.extend(self.reduced.take());
            if !self.model.optimizer.is_zero() {
                self.next(Work::Compute(self.model.optimizer), "optimizer");
            }
        }
        self.all
    }

    fn forward(&mut self, batch: u32) {
        self.receive(self.stage.checked_sub(1), batch, false);
        for layer in self.layers {
            self.exchange(layer);
            self.next(Work::Compute(layer.forward), "forward");
            self.exchange(layer);
            self.reduce(layer);
        }
        let after = Some(self.stage + 1).filter(|stage| *stage < self.model.pipeline);
        let size = self.layers.last().map(|layer| layer.activation);
        self.send(after, batch, size, false);
    }

    fn backward(&mut self, batch: u32) {
        let after = Some(self.stage + 1).filter(|stage| *stage < self.model.pipeline);
        self.receive(after, batch, true);
        let ends = batch + 1 == self.model.batches;
        let mut gradients = 0;
        for (left, layer) in (0..self.layers.len()).rev().zip(self.layers.iter().rev()) {
            self.exchange(layer);
            self.next(Work::Compute(layer.backward), "backward");
            self.exchange(layer);
            self.reduce(layer);
            gradients +=
                layer.parameters * self.model.gradient_bytes / u64::from(self.model.tensor);
            if ends && (left == 0 || gradients >= self.model.bucket) {
                self.reduce_bucket(std::mem::take(&mut gradients));
            }
        }
        let size = self.before.map(|layer| layer.activation);
        self.send(self.stage.checked_sub(1), batch, size, true);
    }

    /// Activations, or their gradients, are summed over tensor ranks.
    fn reduce(&mut self, layer: &Layer) {
        if self.model.tensor > 1 {
            let group = self.stage * self.model.data + self.replica;
            let work = self.collective(program::Kind::AllReduce, group, layer.activation);
            self.next(work, "tensor");
        }
    }

    /// Tokens go to their experts, or back.
    fn exchange(&mut self, layer: &Layer) {
        let Model {
            data,
            tensor,
            pipeline,
            expert,
            ..
        } = *self.model;
        if expert > 1 && !layer.routed.is_zero() {
            let before = pipeline * (data + tensor);
            let own = (self.stage * tensor + self.part) * (data / expert) + self.replica / expert;
            let work = self.collective(program::Kind::AllToAll, before + own, layer.routed);
            self.next(work, "expert");
        }
    }

    /// Gradients are summed over data ranks, beside what the rank computes meanwhile.
    fn reduce_bucket(&mut self, size: u64) {
        let Model {
            data,
            tensor,
            pipeline,
            ..
        } = *self.model;
        if data > 1 && size > 0 {
            let group = pipeline * data + self.stage * tensor + self.part;
            let work = self.collective(program::Kind::AllReduce, group, Bytes::new(size));
            let after = self.last.iter().copied().chain(self.reduced).collect();
            self.reduced = Some(self.push(work, after, "gradients"));
        }
    }

    fn collective(&self, kind: program::Kind, group: u32, size: Bytes) -> Work {
        let algorithm = match kind {
            program::Kind::AllReduce => self.model.algorithm,
            _ => Algorithm::Usual,
        };
        Work::Collective(program::Collective {
            kind,
            algorithm,
            group,
            size,
            parts: Vec::new(),
        })
    }

    fn tag(&self, batch: u32, back: bool) -> u64 {
        let batch = u64::from(self.step) * u64::from(self.model.batches) + u64::from(batch);
        2 * batch + u64::from(back)
    }

    /// What a neighbouring stage sends for a micro-batch, if there is one.
    fn receive(&mut self, stage: Option<u32>, batch: u32, back: bool) {
        let layer = if back {
            self.layers.last().copied()
        } else {
            self.before
        };
        if let (Some(stage), Some(layer)) = (stage, layer) {
            let work = Work::Receive {
                from: self.model.rank(stage, self.replica, self.part),
                size: layer.activation,
                tag: self.tag(batch, back),
            };
            self.next(work, "pipeline");
        }
    }

    /// Nothing waits for what goes to a neighbouring stage but that.
    fn send(&mut self, stage: Option<u32>, batch: u32, size: Option<Bytes>, back: bool) {
        if let (Some(stage), Some(size)) = (stage, size) {
            let work = Work::Send {
                to: self.model.rank(stage, self.replica, self.part),
                size,
                tag: self.tag(batch, back),
            };
            self.push(work, self.last.clone(), "pipeline");
        }
    }

    /// An operation that waits for the one before, and that the one behind waits for.
    fn next(&mut self, work: Work, name: &str) {
        let after = std::mem::take(&mut self.last);
        let number = self.push(work, after, name);
        self.last = vec![number];
    }

    fn push(&mut self, work: Work, after: Vec<u32>, name: &str) -> u32 {
        self.all.push(Operation {
            work,
            after,
            after_start: Vec::new(),
            stream: 0,
            nic: None,
            step: self.step,
            name: name.into(),
        });
        self.all.len() as u32 - 1
    }
}
