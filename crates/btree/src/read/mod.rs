//! Wait-free reads at one version: descents, gets, scans, samples. Readers never acquire a lock.

pub(crate) mod access_stats;
pub(crate) mod cursor;
pub(crate) mod descent;
pub(crate) mod get;
pub(crate) mod pair;
pub(crate) mod reader;
pub(crate) mod run;
pub(crate) mod sample;
pub(crate) mod scan;
pub(crate) mod value_run;
