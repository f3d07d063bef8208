//! The page of several attacks: a row for each, with a link to its report.
#![expect(missing_docs, reason = "the fields are what the page shows")]

use serde::Serialize;

use super::frame::Page;
use super::study::Badge;
use super::text;
use crate::error::Error;

const SCRIPT: &str = include_str!("../../../../report/verdict.js");

/// What the page shows.
#[derive(Debug, Serialize)]
pub struct Index {
    pub eyebrow: &'static str,
    pub title: String,
    pub badge: Badge,
    pub facts: Vec<(&'static str, String)>,
    pub version: String,
    pub caption: &'static str,
    pub head: Vec<&'static str>,
    pub rows: Vec<IndexRow>,
    pub notes: Vec<String>,
}

/// An attack.
#[derive(Debug, Serialize)]
pub struct IndexRow {
    /// The file of its report beside the page, if there is one.
    pub report: Option<String>,
    pub cells: Vec<String>,
}

/// The page as one HTML file.
///
/// # Errors
/// If a text has no JSON form, which none is.
pub fn page(index: &Index) -> Result<String, Error> {
    let json =
        serde_json::to_string(index).map_err(|error| Error::new(format!("index.html: {error}")))?;
    let page = Page {
        title: &index.title,
        body: include_str!("../../../../report/verdict.html"),
        data: &text::escape_json(&json),
        scripts: &[SCRIPT],
        sources: "",
    };
    Ok(page.text())
}
