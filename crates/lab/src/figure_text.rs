//! The text of a figure on a page of results. The benchmark and the simulation of the accelerator share it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::map::Failure;

/// The text of a page about a figure.
#[derive(Debug, Clone, Copy)]
pub struct FigureText {
    /// The number of a figure of the paper, or a word for one of our own.
    pub name: &'static str,
    /// The topic.
    pub title: &'static str,
    /// The claim of the paper, or the question that our figure answers.
    pub claim: &'static str,
    /// The differences to the paper and their causes, or how to read our figure.
    pub reason: &'static str,
}

/// The results of a figure without measurements.
pub const NOT_MEASURED: &str = "*Ours:* not measured yet.\n\n";

impl FigureText {
    /// Returns the name of the figure's folder and drawing.
    pub fn stem(&self) -> String {
        format!("figure-{}", self.name)
    }

    /// Returns the heading.
    pub fn heading(&self) -> String {
        if self.is_of_paper() { format!("Figure {}: {}", self.name, self.title) } else { self.title.into() }
    }

    fn is_of_paper(&self) -> bool {
        self.name.parse::<u32>().is_ok()
    }

    /// Returns the section of the page with these results.
    pub fn section(&self, results: &str) -> String {
        let Self { claim, reason, .. } = self;
        let (claimed, explained) =
            if self.is_of_paper() { ("The paper", "Differences") } else { ("Question", "How to read it") };
        format!("\n## {}\n\n*{claimed}:* {claim}\n\n{results}*{explained}:* {reason}\n", self.heading())
    }

    /// Writes `figure.json`, the input of `honeycomb_plots`, into the figure's folder. The folder must exist.
    pub fn write_json(&self, json: &Value, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(self.stem()).join("figure.json");
        Ok(fs::write(path, serde_json::to_string_pretty(json)? + "\n")?)
    }
}

/// Selects figures by name: one of them, `all`, or `none`.
///
/// # Errors
/// The error lists the valid names.
pub fn select<'f, F>(
    figures: &'f [F],
    name: &str,
    text: fn(&F) -> FigureText,
) -> Result<Vec<&'f F>, Failure> {
    let selected: Vec<&F> =
        figures.iter().filter(|figure| name == "all" || name == text(figure).name).collect();
    if selected.is_empty() && name != "none" {
        let names: Vec<&str> = figures.iter().map(|figure| text(figure).name).collect();
        return Err(format!("unknown figure {name}; expected {}, all or none", names.join(", ")).into());
    }
    Ok(selected)
}

/// Returns a Markdown table. The first row contains the titles of the columns.
pub fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if number == 0 {
            let _ = writeln!(text, "|{}", "---|".repeat(row.len()));
        }
    }
    text
}
