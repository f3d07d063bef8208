//! Figures as people read them, and escapes for HTML and JSON.

const DECIMAL: [&str; 6] = ["", "k", "M", "G", "T", "P"];

/// A figure with three significant digits and the prefix of its unit: `(1234.0, "B")` is
/// `("1.23", "kB")`.
pub(super) fn scaled(value: f64, unit: &str) -> (String, String) {
    let mut scaled = value;
    let mut prefix = 0;
    while scaled.abs() >= 999.5 && prefix + 1 < DECIMAL.len() {
        scaled /= 1000.0;
        prefix += 1;
    }
    (three_digits(scaled), format!("{}{unit}", DECIMAL[prefix]))
}

/// A time in nanoseconds with its unit: `12_300.0` is `("12.3", "µs")`.
pub(super) fn time(ns: f64) -> (String, &'static str) {
    match ns {
        ns if ns < 999.5 => (three_digits(ns), "ns"),
        ns if ns < 999_500.0 => (three_digits(ns / 1e3), "µs"),
        ns if ns < 999_500_000.0 => (three_digits(ns / 1e6), "ms"),
        ns => (three_digits(ns / 1e9), "s"),
    }
}

/// A count with a narrow space between groups of three digits.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits without an exponent; whole numbers below 1000 stay whole.
pub(super) fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.decimals$}")
    }
}

/// A share of 0 to 1 in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// Text for an HTML element or attribute.
pub(super) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// JSON for a `<script>` element: `<` appears in strings only, where `\u003c` means the same, and
/// without it neither `</script>` nor `<!--` can end the element or change how it is read.
pub(super) fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}
