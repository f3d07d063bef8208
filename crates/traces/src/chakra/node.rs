//! Nodes of an execution trace, as `et_def.proto` has them.

use super::wire::{Bytes, Fault, Value};

/// `Node`, as far as it matters.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) id: u64,
    pub(super) name: String,
    /// A `NodeType`.
    pub(super) kind: u64,
    /// `data_deps`. `ctrl_deps` aren't read: they say which operation called this one, which in traces of PyTorch ends after it.
    pub(super) after: Vec<u64>,
    pub(super) micros: u64,
    /// `values` of `inputs`.
    pub(super) inputs: &'a [u8],
    pub(super) attributes: Attributes<'a>,
}

/// Attributes of a node, by name; `None` where it has none.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a> {
    pub(super) is_cpu_op: Option<i128>,
    pub(super) stream: Option<i128>,
    pub(super) num_ops: Option<i128>,
    pub(super) comm_type: Option<i128>,
    pub(super) comm_size: Option<i128>,
    pub(super) comm_src: Option<i128>,
    pub(super) comm_dst: Option<i128>,
    pub(super) comm_tag: Option<i128>,
    pub(super) root: Option<i128>,
    pub(super) pg_name: Option<&'a str>,
    /// A dimension of the topology that isn't involved.
    pub(super) leaves_out: Option<usize>,
}

/// A value of an attribute.
enum Given<'a> {
    Integer(i128),
    Text(&'a [u8]),
    /// The first that is false.
    Bools(Option<usize>),
    Other,
}

impl<'a> Node<'a> {
    /// Whether a node that communicates is only the call of it: on the host, and says neither what nor how much.
    pub(super) fn is_launch(&self) -> bool {
        let it = &self.attributes;
        it.is_cpu_op.is_some_and(|it| it != 0) && it.comm_type.is_none() && it.comm_size.is_none()
    }

    pub(super) fn read(mut bytes: Bytes<'a>) -> Result<Self, Fault> {
        let mut node = Self::default();
        loop {
            let start = bytes;
            let Some((number, value)) = bytes.field()? else {
                return Ok(node);
            };
            match (number, value) {
                (1, Value::Varint(id)) => node.id = id,
                (2, Value::Bytes(name)) => {
                    node.name = String::from_utf8_lossy(name.rest).into_owned();
                }
                (3, Value::Varint(kind)) => node.kind = kind,
                (5, Value::Varint(id)) => node.after.push(id),
                (5, Value::Bytes(packed)) => push_packed(packed, &mut node.after)?,
                (7, Value::Varint(micros)) => node.micros = micros,
                (8, Value::Bytes(inputs)) => {
                    if let Some(values) = string(inputs, 1)? {
                        node.inputs = values;
                    }
                }
                (10, Value::Bytes(attribute)) => node.attributes.read(attribute)?,
                (1..=3 | 5 | 7 | 8 | 10, _) => {
                    let message = format!("field {number} of a node has another type");
                    return Err(start.fault(message));
                }
                _ => {}
            }
        }
    }
}

/// Only the number of a node.
pub(super) fn id(mut node: Bytes<'_>) -> Result<u64, Fault> {
    let mut found = 0;
    while let Some((number, value)) = node.field()? {
        if let (1, Value::Varint(id)) = (number, value) {
            found = id;
        }
    }
    Ok(found)
}

fn push_packed(mut packed: Bytes<'_>, into: &mut Vec<u64>) -> Result<(), Fault> {
    while !packed.is_empty() {
        into.push(packed.varint()?);
    }
    Ok(())
}

/// The last string of this field.
fn string(mut message: Bytes<'_>, wanted: u64) -> Result<Option<&[u8]>, Fault> {
    let mut found = None;
    while let Some((number, value)) = message.field()? {
        if let (true, Value::Bytes(text)) = (number == wanted, value) {
            found = Some(text.rest);
        }
    }
    Ok(found)
}

impl<'a> Attributes<'a> {
    /// Takes one `AttributeProto`; those of other names are left out.
    fn read(&mut self, mut bytes: Bytes<'a>) -> Result<(), Fault> {
        let start = bytes;
        let (mut name, mut given): (&[u8], _) = (b"", Given::Other);
        while let Some((number, value)) = bytes.field()? {
            match (number, value) {
                (1, Value::Bytes(text)) => name = text.rest,
                (1 | 2, _) => {}
                _ => given = Given::read(number, value)?,
            }
        }
        let slot = match name {
            b"is_cpu_op" => &mut self.is_cpu_op,
            b"stream" => &mut self.stream,
            b"num_ops" => &mut self.num_ops,
            b"comm_type" => &mut self.comm_type,
            b"comm_size" => &mut self.comm_size,
            b"comm_src" => &mut self.comm_src,
            b"comm_dst" => &mut self.comm_dst,
            b"comm_tag" => &mut self.comm_tag,
            b"root" => &mut self.root,
            b"pg_name" => {
                let text = match given {
                    Given::Text(text) => std::str::from_utf8(text).ok(),
                    _ => None,
                };
                let wrong = || start.fault("pg_name has another type, expected a string");
                self.pg_name = Some(text.ok_or_else(wrong)?);
                return Ok(());
            }
            b"involved_dim" => {
                let Given::Bools(left_out) = given else {
                    let message = "involved_dim has another type, expected a list of bool";
                    return Err(start.fault(message));
                };
                self.leaves_out = left_out;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let Given::Integer(value) = given else {
            let name = String::from_utf8_lossy(name);
            let message = format!("{name} has another type, expected an integer");
            return Err(start.fault(message));
        };
        *slot = Some(value);
        Ok(())
    }
}

impl<'a> Given<'a> {
    fn read(number: u64, value: Value<'a>) -> Result<Self, Fault> {
        // A varint is the two's complement of int32 and int64, and has the sign in the last bit for sint32 and sint64.
        let integer = match (number, value) {
            (7 | 9, Value::Varint(it)) => i128::from(it.cast_signed()),
            (11 | 13 | 27, Value::Varint(it)) => i128::from(it),
            (15 | 17, Value::Varint(it)) => {
                i128::from((it >> 1).cast_signed() ^ -(it & 1).cast_signed())
            }
            (19, Value::Fixed32(it)) => i128::from(it),
            (21, Value::Fixed64(it)) => i128::from(it),
            (23, Value::Fixed32(it)) => i128::from(it.cast_signed()),
            (25, Value::Fixed64(it)) => i128::from(it.cast_signed()),
            (28, Value::Bytes(list)) => return Ok(Self::Bools(first_false(list)?)),
            (29, Value::Bytes(text)) => return Ok(Self::Text(text.rest)),
            _ => return Ok(Self::Other),
        };
        Ok(Self::Integer(integer))
    }
}

/// Where a `BoolList` has its first false.
fn first_false(mut list: Bytes<'_>) -> Result<Option<usize>, Fault> {
    let mut values = Vec::new();
    while let Some((number, value)) = list.field()? {
        match (number, value) {
            (1, Value::Varint(one)) => values.push(one),
            (1, Value::Bytes(packed)) => push_packed(packed, &mut values)?,
            _ => {}
        }
    }
    Ok(values.iter().position(|&value| value == 0))
}
