//! No type does everything.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Block, Expr, FnArg, ItemFn, ItemImpl, Stmt, Type};

use crate::common::assert_none;
use crate::source::{Source, differences, sources};

/// Most functions of a type: methods of its `impl` blocks but those of traits, and functions of its crate outside of them that
/// change one (`&mut T`), which are methods by another name. One that only reads a field isn't counted, or a public field would be the
/// better method.
const MOST: usize = 60;

/// The types that a crate declares.
#[derive(Default)]
struct Declared(BTreeSet<String>);

impl<'a> Visit<'a> for Declared {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.0.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.0.insert(item.ident.to_string());
    }
}

/// Counts functions by type.
struct Functions<'a> {
    declared: &'a BTreeSet<String>,
    counts: BTreeMap<String, usize>,
}

impl Functions<'_> {
    fn count(&mut self, name: String, functions: usize) {
        if self.declared.contains(&name) {
            *self.counts.entry(name).or_default() += functions;
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if item.trait_.is_some() {
            return;
        }
        let methods = item.items.iter();
        let methods = methods.filter(|item| match item {
            syn::ImplItem::Fn(method) => !reads_a_field(&method.block),
            _ => false,
        });
        if let Some(name) = name_of(&item.self_ty) {
            self.count(name, methods.count());
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        let changed = item
            .sig
            .inputs
            .iter()
            .filter_map(|argument| match argument {
                FnArg::Typed(argument) => match &*argument.ty {
                    Type::Reference(it) if it.mutability.is_some() => name_of(&it.elem),
                    _ => None,
                },
                FnArg::Receiver(_) => None,
            });
        let changed: BTreeSet<String> = changed.collect();
        for name in changed {
            self.count(name, 1);
        }
        visit::visit_item_fn(self, item);
    }
}

/// Whether a method is no more than `self.field`, or a reference to it.
fn reads_a_field(block: &Block) -> bool {
    let [Stmt::Expr(expression, None)] = block.stmts.as_slice() else {
        return false;
    };
    let field = match expression {
        Expr::Reference(it) if it.mutability.is_none() => &it.expr,
        Expr::MethodCall(it) if it.method == "as_deref" => &it.receiver,
        it => it,
    };
    let Expr::Field(field) = field else {
        return false;
    };
    matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self"))
}

/// The last name of a path to a type.
fn name_of(it: &Type) -> Option<String> {
    match it {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        _ => None,
    }
}

/// How many functions each type of a crate has.
fn functions(sources: &[&Source]) -> BTreeMap<String, usize> {
    let mut declared = Declared::default();
    for item in sources.iter().flat_map(|source| &source.items) {
        declared.visit_item(item);
    }
    let mut functions = Functions {
        declared: &declared.0,
        counts: BTreeMap::new(),
    };
    for item in sources.iter().flat_map(|source| &source.items) {
        functions.visit_item(item);
    }
    functions.counts
}

#[test]
fn no_type_has_too_many_functions() {
    let sources = sources();
    let crates: BTreeSet<&str> = sources.iter().map(|it| it.krate.as_str()).collect();
    let mut large = BTreeMap::new();
    for krate in crates {
        let own: Vec<&Source> = sources.iter().filter(|it| it.krate == krate).collect();
        let many = functions(&own)
            .into_iter()
            .filter(|(_, count)| *count > MOST);
        large.extend(many.map(|(name, count)| (format!("{krate} {name}"), count)));
    }
    let list = ("large-types.txt", "cut the type along its concerns");
    assert_none(&differences(list, &large));
}

#[test]
fn functions_that_change_a_type_count_wherever_they_are() {
    let text = "pub struct A; impl A { fn a(&self) {} pub const fn b() {} fn f(&self) -> &u8 { &self.f } fn g(&self) -> u8 { self.g } } impl Clone for A { fn clone(&self) -> A { A } }\n\
         mod inner { pub(super) fn c(it: &mut super::A, more: &mut u8) {} } fn d(a: &A) {} fn e((a, b): (&mut A, u8), c: &mut A) {}";
    let source = Source {
        path: String::new(),
        krate: String::new(),
        module: Vec::new(),
        items: syn::parse_file(text).unwrap().items,
    };
    assert_eq!(functions(&[&source])["A"], 4);
}
