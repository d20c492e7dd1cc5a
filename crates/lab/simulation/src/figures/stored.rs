//! The measurements of a figure in its folder: `figure.json` for drawings, `figure.csv` for other programs.

use std::fs;
use std::path::Path;

use honeycomb_workload::Failure;
use serde::{Deserialize, Serialize};

use super::Figure;
use crate::report::{self, Report};

/// A measured point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) series: String,
    pub(super) x: String,
    #[serde(flatten)]
    pub(super) report: Report,
}

#[derive(Deserialize)]
struct Stored {
    rows: Vec<Row>,
}

/// Writes rows. Rows of builds with other units stay.
pub(super) fn write(figure: &Figure, rows: &[Row], folder: &Path) -> Result<(), Failure> {
    let mut all = read(figure, folder)?;
    let build = report::this_build();
    all.retain(|row| row.report.build() != build);
    all.extend_from_slice(rows);
    let stem = folder.join(figure.text.stem());
    fs::create_dir_all(&stem)?;
    let json = serde_json::json!({
        "heading": figure.text.heading(), "axis": figure.axis, "shape": figure.shape, "rows": all
    });
    figure.text.write_json(&json, folder)?;
    Ok(fs::write(stem.join("figure.csv"), table(&all)?)?)
}

/// Reads the rows of a figure. Returns no rows if the figure was not measured.
pub(super) fn read(figure: &Figure, folder: &Path) -> Result<Vec<Row>, Failure> {
    let path = folder.join(figure.text.stem()).join("figure.json");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let stored: Result<Stored, _> = serde_json::from_str(&fs::read_to_string(&path)?);
    Ok(stored.map_err(|error| format!("{}: {error}", path.display()))?.rows)
}

/// Returns the rows as comma-separated values, with a row of column names.
fn table(rows: &[Row]) -> Result<Vec<u8>, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (number, row) in rows.iter().enumerate() {
        let serde_json::Value::Object(fields) = serde_json::to_value(row)? else { continue };
        if number == 0 {
            writer.write_record(fields.keys())?;
        }
        let text = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
        writer.write_record(fields.values().map(text))?;
    }
    Ok(writer.into_inner()?)
}
