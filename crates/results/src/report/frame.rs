//! The frame of all pages: one HTML file with looks, scripts and data in it.

use super::text;

const FRAME: &str = include_str!("../../../../report/frame.html");

/// What `{{name}}` stands for on every page.
const LOOKS: [(&str, &str); 2] = [
    (
        "uplot.css",
        include_str!("../../../../report/vendor/uPlot.min.css"),
    ),
    ("report.css", include_str!("../../../../report/report.css")),
];

/// Scripts of every page, before its own.
const SCRIPTS: [&str; 5] = [
    include_str!("../../../../report/vendor/uPlot.iife.min.js"),
    include_str!("../../../../report/format.js"),
    include_str!("../../../../report/page.js"),
    include_str!("../../../../report/charts.js"),
    include_str!("../../../../report/svg.js"),
];

/// What differs from page to page.
pub(super) struct Page<'a> {
    /// Plain text.
    pub(super) title: &'a str,
    /// HTML.
    pub(super) body: &'a str,
    /// JSON without `<`.
    pub(super) data: &'a str,
    /// In their order.
    pub(super) scripts: &'a [&'a str],
    /// What the page may use beside itself, as the end of a content security policy.
    pub(super) sources: &'a str,
}

impl Page<'_> {
    /// The page as one HTML file.
    pub(super) fn text(&self) -> String {
        let title = text::escape_html(self.title);
        let all = SCRIPTS.iter().chain(self.scripts);
        let scripts: String = all
            .map(|script| format!("<script>{script}</script>\n"))
            .collect();
        fill(FRAME, |name| match name {
            "title" => Some(title.as_str()),
            "body" => Some(self.body),
            "data" => Some(self.data),
            "scripts" => Some(scripts.as_str()),
            "sources" => Some(self.sources),
            _ => {
                let found = LOOKS.iter().find(|(look, _)| *look == name);
                found.map(|(_, text)| *text)
            }
        })
    }
}

/// Replaces each `{{name}}` in one pass, so that nothing inserted is read as a placeholder.
fn fill<'a>(template: &'a str, part: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut page = String::with_capacity(1 << 20);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let found = after
            .split_once("}}")
            .and_then(|(name, tail)| Some((part(name)?, tail)));
        match found {
            Some((text, tail)) => {
                page.push_str(text);
                rest = tail;
            }
            None => {
                page.push_str("{{");
                rest = after;
            }
        }
    }
    page.push_str(rest);
    page
}
