//! `honeycomb index`: runs the example application on an embedded store or on a server.

use std::time::Duration;

use honeycomb_file_index::{
    AnswerReport, EmbeddedStore, IndexReport, Options, ServerStore, StorageReport, Walk, index,
};
use serde::Serialize;

use crate::arguments::IndexArguments;
use crate::error::Error;
use crate::image::{self, SavedImage};
use crate::image_file::ImageFile;
use crate::report::{self, Report, ReportText};
use crate::store_summary::StoreSummary;
use crate::{Status, progress};

/// The result of an index run.
#[derive(Serialize)]
pub(crate) struct IndexResult {
    #[serde(flatten)]
    storage: StorageReport,
    /// The embedded store, unless a server keeps the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreSummary>,
    #[serde(flatten)]
    answers: AnswerReport,
    saved: Option<SavedImage>,
}

/// Runs the command.
///
/// # Errors
/// The directory cannot be read, the store is full or unreachable, or an image cannot be loaded or saved.
pub(crate) fn run(arguments: &IndexArguments) -> Result<Status, Error> {
    let walk = Walk::new(&arguments.directory, progress::start_phase)?;
    let options = Options {
        checksums: !arguments.no_checksum,
        seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..)),
        ranges: arguments.ranges,
        compare_time: Duration::from_secs(arguments.compare_seconds),
        start_phase: progress::start_phase,
    };
    let result = match arguments.server {
        Some(address) => index(&walk, &ServerStore::new(address), &options)?.into(),
        None => index_embedded(arguments, &walk, &options)?,
    };
    report::print(&result, arguments.json.json)?;
    Ok(result.status())
}

fn index_embedded(arguments: &IndexArguments, walk: &Walk, options: &Options) -> Result<IndexResult, Error> {
    let file = arguments.store.as_deref().map(ImageFile::lock).transpose()?;
    let mut store = image::load_or_create(file.as_ref(), &arguments.memory, walk.raw_bytes())?;
    let result: IndexResult = index(walk, &EmbeddedStore::new(&store)?, options)?.into();
    let saved = image::save(&store, file)?;
    Ok(IndexResult { store: Some(StoreSummary::new(&mut store)?), saved, ..result })
}

impl IndexResult {
    /// Returns whether all answers of the store are correct.
    pub(crate) fn status(&self) -> Status {
        if self.answers.is_correct() { Status::Success } else { Status::Negative }
    }
}

impl From<IndexReport> for IndexResult {
    fn from(report: IndexReport) -> IndexResult {
        IndexResult { storage: report.storage, store: None, answers: report.answers, saved: None }
    }
}

impl Report for IndexResult {
    fn write_text(&self, text: &mut ReportText) {
        text.lines(&self.storage);
        self.store.iter().for_each(|store| store.write_text(text));
        text.lines(&self.answers);
        self.saved.iter().for_each(|saved| saved.write_text(text));
    }
}
