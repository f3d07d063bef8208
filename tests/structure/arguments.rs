//! Arguments have names of their own.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{FnArg, Signature, Type};

use crate::common::assert_none;
use crate::source::{differences, sources};

/// Functions with an argument that is a tuple of unlike types: the limit of arguments is to be felt.
struct Bundles {
    path: String,
    found: BTreeMap<String, usize>,
}

impl<'a> Visit<'a> for Bundles {
    fn visit_signature(&mut self, signature: &'a Signature) {
        let bundles = signature.inputs.iter().filter(|argument| match argument {
            FnArg::Typed(argument) => bundles(&argument.ty),
            FnArg::Receiver(_) => false,
        });
        let bundles = bundles.count();
        if bundles > 0 {
            let name = format!("{} {}", self.path, signature.ident);
            *self.found.entry(name).or_default() += bundles;
        }
        visit::visit_signature(self, signature);
    }
}

/// Whether a type is a tuple whose members aren't of one type.
fn bundles(it: &Type) -> bool {
    match it {
        Type::Tuple(tuple) => tuple.elems.iter().any(|member| *member != tuple.elems[0]),
        Type::Reference(reference) => bundles(&reference.elem),
        _ => false,
    }
}

#[test]
fn arguments_arent_bundled_in_tuples() {
    let mut found = BTreeMap::new();
    for source in sources() {
        let mut bundles = Bundles {
            path: source.path,
            found: BTreeMap::new(),
        };
        for item in &source.items {
            bundles.visit_item(item);
        }
        found.extend(bundles.found);
    }
    let list = (
        "tuples.txt",
        "give arguments names, or a struct what belongs together",
    );
    assert_none(&differences(list, &found));
}

#[test]
fn tuples_of_unlike_types_are_found() {
    let is = |text: &str| bundles(&syn::parse_str(text).unwrap());
    assert!(is("(u8, u16)") && is("&mut (A, &A)") && is("(A, A, B)"));
    assert!(!is("(Rate, Rate)") && !is("()") && !is("[(u8, u16); 2]") && !is("Vec<(u8, A)>"));
}
