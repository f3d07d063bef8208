//! Entry points that the archive doesn't have.

use std::fmt::Write as _;

use crate::table::{Behind, Symbol, Table};

/// `EOPNOTSUPP` of Linux.
const NOT_SUPPORTED: u32 = 95;

/// What all entry points jump to, on the processors that are known.
const BODIES: &str = "\
    .section .note.GNU-stack,\"\",%progbits
    .data
    .balign 8
refused_data: .quad 0
    .size refused_data, 8
    .type refused_data, %object
    .text
#if defined(__x86_64__)
#define GO jmp
refused_error: endbr64
    movl $EOPNOTSUPP, %eax
    ret
refused_null: endbr64
    subq $8, %rsp
    call __errno_location@PLT
    movl $EOPNOTSUPP, (%rax)
    xorl %eax, %eax
    addq $8, %rsp
    ret
refused_minus: endbr64
    subq $8, %rsp
    call __errno_location@PLT
    movl $EOPNOTSUPP, (%rax)
    movq $-1, %rax
    addq $8, %rsp
    ret
refused_nothing: endbr64
    ret
#elif defined(__aarch64__)
#define GO b
refused_error:
    mov w0, #EOPNOTSUPP
    ret
refused_null:
    stp x29, x30, [sp, #-16]!
    bl __errno_location
    mov w1, #EOPNOTSUPP
    str w1, [x0]
    mov x0, #0
    ldp x29, x30, [sp], #16
    ret
refused_minus:
    stp x29, x30, [sp, #-16]!
    bl __errno_location
    mov w1, #EOPNOTSUPP
    str w1, [x0]
    mov x0, #-1
    ldp x29, x30, [sp], #16
    ret
refused_nothing:
    ret
#else
#error \"expected x86-64 or AArch64\"
#endif
";

impl Table {
    /// An assembly file, for the C preprocessor, of all names but those that the archive has.
    pub fn assembly(&self) -> String {
        let mut text = format!("#define EOPNOTSUPP {NOT_SUPPORTED}\n{BODIES}");
        let all = self.nodes.iter().flat_map(|node| {
            let symbols = node.symbols.iter();
            symbols.map(|symbol| (node.name.as_str(), symbol))
        });
        for (number, (node, symbol)) in all.enumerate() {
            entry(&mut text, number, node, symbol);
        }
        text
    }
}

fn entry(text: &mut String, number: usize, node: &str, symbol: &Symbol) {
    let name = &symbol.name;
    let target = match symbol.behind {
        Behind::Real => return,
        Behind::Also => name.as_str(),
        Behind::Error => "refused_error",
        Behind::Null => "refused_null",
        Behind::Minus => "refused_minus",
        Behind::Nothing => "refused_nothing",
        Behind::Data => "refused_data",
    };
    let (label, at) = (
        format!("entry_{number}"),
        if symbol.default { "@@" } else { "@" },
    );
    let _ = writeln!(text, "    .globl {label}");
    let _ = match symbol.behind {
        Behind::Data => writeln!(
            text,
            "    .set {label}, {target}\n    .type {label}, %object\n    .size {label}, 8"
        ),
        _ => writeln!(text, "    .type {label}, %function\n{label}: GO {target}"),
    };
    let _ = writeln!(text, "    .symver {label}, {name}{at}{node}");
}
