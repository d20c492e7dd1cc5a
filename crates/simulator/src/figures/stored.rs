//! What was measured of a figure, in its folder: `figure.json` for who draws it, `figure.csv` for others.

use std::fs;
use std::path::Path;

use honeycomb_workload::Failure;
use serde::{Deserialize, Serialize};

use super::Figure;
use crate::engine::Simulator;
use crate::report::Report;

/// A point that was measured.
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

/// Writes rows, after those that a build with other units has written.
pub(super) fn write(figure: &Figure, rows: &[Row], folder: &Path) -> Result<(), Failure> {
    let mut all = read(figure, folder)?;
    let own = Simulator::units();
    all.retain(|row| row.report.units() != own);
    all.extend_from_slice(rows);
    let folder = folder.join(figure.stem());
    fs::create_dir_all(&folder)?;
    let drawing = serde_json::json!({
        "heading": figure.heading(), "axis": figure.axis, "shape": figure.shape, "rows": all
    });
    fs::write(folder.join("figure.json"), serde_json::to_string_pretty(&drawing)? + "\n")?;
    Ok(fs::write(folder.join("figure.csv"), table(&all)?)?)
}

/// The rows that were written; none if there are none.
pub(super) fn read(figure: &Figure, folder: &Path) -> Result<Vec<Row>, Failure> {
    let path = folder.join(figure.stem()).join("figure.json");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let stored: Result<Stored, _> = serde_json::from_str(&fs::read_to_string(&path)?);
    Ok(stored.map_err(|error| format!("{}: {error}", path.display()))?.rows)
}

/// The rows as comma-separated values, with the names of the columns.
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
