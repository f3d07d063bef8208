//! What one queue pair does: everything in order, at once.

use super::{SHARED, Step, pattern};

#[derive(Default)]
pub struct Model {
    pub shared: Vec<u8>,
    pub sent: Vec<Vec<u8>>,
    pub read: Vec<(usize, Vec<u8>)>,
}

impl Model {
    pub fn of(steps: &[Step]) -> Self {
        let mut model = Self {
            shared: vec![0; SHARED as usize],
            ..Self::default()
        };
        for (message, step) in steps.iter().enumerate() {
            let data = |size| {
                (0..size)
                    .map(|at| pattern(message, at))
                    .collect::<Vec<u8>>()
            };
            match *step {
                Step::Write(at, size) => model.range(at, size).copy_from_slice(&data(size)),
                Step::Read(at, size) => {
                    let got = model.range(at, size).to_vec();
                    model.read.push((message, got));
                }
                Step::Send(size) => model.sent.push(data(size)),
                Step::Add(at) => model.range(at, 1)[0] = model.range(at, 1)[0].wrapping_add(1),
            }
        }
        model
    }

    fn range(&mut self, at: u64, size: u64) -> &mut [u8] {
        &mut self.shared[at as usize..(at + size) as usize]
    }
}
