//! Writes execution traces, by the schema `et_def.proto`.

/// A field of a message.
pub(crate) enum Field<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
    Fixed64(u64),
}

pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A message of these fields.
pub(crate) fn message(fields: &[(u64, Field<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, field) in fields {
        let mut tag = |kind: u64| varint(number << 3 | kind, &mut out);
        match field {
            Field::Varint(value) => {
                tag(0);
                varint(*value, &mut out);
            }
            Field::Fixed64(value) => {
                tag(1);
                out.extend(value.to_le_bytes());
            }
            Field::Bytes(bytes) => {
                tag(2);
                out.extend(delimited(bytes));
            }
            Field::Fixed32(value) => {
                tag(5);
                out.extend(value.to_le_bytes());
            }
        }
    }
    out
}

pub(crate) fn delimited(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(bytes.len() as u64, &mut out);
    out.extend(bytes);
    out
}

/// An `AttributeProto`.
pub(crate) fn attribute(name: &str, number: u64, value: Field<'_>) -> Vec<u8> {
    message(&[(1, Field::Bytes(name.as_bytes())), (number, value)])
}

/// `Node`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) kind: u64,
    pub(crate) ctrl_deps: Vec<u64>,
    pub(crate) data_deps: Vec<u64>,
    pub(crate) micros: u64,
    pub(crate) inputs: String,
    pub(crate) attributes: Vec<Vec<u8>>,
}

impl Node {
    pub(crate) fn new(id: u64, kind: u64) -> Self {
        Self {
            id,
            kind,
            name: format!("node {id}"),
            ..Self::default()
        }
    }

    pub(crate) fn micros(self, micros: u64) -> Self {
        Self { micros, ..self }
    }

    pub(crate) fn after(self, data_deps: &[u64]) -> Self {
        Self {
            data_deps: data_deps.to_vec(),
            ..self
        }
    }

    /// With an attribute of type int64.
    pub(crate) fn int(self, name: &str, value: i64) -> Self {
        self.with(attribute(name, 9, Field::Varint(value as u64)))
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.with(attribute(name, 29, Field::Bytes(value.as_bytes())))
    }

    pub(crate) fn with(mut self, attribute: Vec<u8>) -> Self {
        self.attributes.push(attribute);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let packed = |ids: &[u64]| {
            let mut out = Vec::new();
            ids.iter().for_each(|id| varint(*id, &mut out));
            out
        };
        let (ctrl, data) = (packed(&self.ctrl_deps), packed(&self.data_deps));
        let inputs = message(&[(1, Field::Bytes(self.inputs.as_bytes()))]);
        let mut fields = vec![
            (1, Field::Varint(self.id)),
            (2, Field::Bytes(self.name.as_bytes())),
            (3, Field::Varint(self.kind)),
            (4, Field::Bytes(&ctrl)),
            (5, Field::Bytes(&data)),
            (6, Field::Varint(77)),
            (7, Field::Varint(self.micros)),
            (8, Field::Bytes(&inputs)),
        ];
        fields.extend(self.attributes.iter().map(|it| (10, Field::Bytes(it))));
        message(&fields)
    }
}

/// A file with these nodes.
pub(crate) fn file(nodes: &[Node]) -> Vec<u8> {
    let version = message(&[(1, Field::Bytes(b"0.0.4"))]);
    let mut out = delimited(&version);
    nodes
        .iter()
        .for_each(|node| out.extend(delimited(&node.bytes())));
    out
}
