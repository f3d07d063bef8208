//! Messages to all others at once. Each member begins with the one behind it, so that not all begin with the same.

use fairlane_units::Bytes;

use super::build::Builder;

/// Each member sends each other the block that is that one's.
pub(super) fn scatter(builder: &mut Builder) {
    pairs(builder.members(), |from, to| {
        builder.send([from, to], [to, to + 1], true, &[]);
    });
}

/// Each member sends each other its own block.
pub(super) fn gather(builder: &mut Builder) {
    pairs(builder.members(), |from, to| {
        builder.send([from, to], [from, from + 1], false, &[]);
    });
}

/// Each member sends each other a part of its vector: a block, or as much as `parts` says.
pub(super) fn all_to_all(builder: &mut Builder, parts: &[&[Bytes]]) {
    pairs(builder.members(), |from, to| {
        let blocks = [to, to + 1];
        let stated = parts.get(from as usize).filter(|own| !own.is_empty());
        match stated {
            Some(own) => {
                let size = own.get(to as usize).copied().unwrap_or_default();
                builder.send_bytes([from, to], size, blocks, false, &[]);
            }
            None => {
                builder.send([from, to], blocks, false, &[]);
            }
        }
    });
}

fn pairs(members: u32, mut each: impl FnMut(u32, u32)) {
    for from in 0..members {
        for ahead in 1..members {
            each(from, (from + ahead) % members);
        }
    }
}
