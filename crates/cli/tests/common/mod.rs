//! Runs the command and checks its output.

#![allow(dead_code, reason = "each test program uses a part of the module")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fmt, fs};

use serde_json::Value;
use tempfile::TempDir;

/// The exit status and the output of a command.
pub(crate) struct CommandOutput {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Runs `honeycomb` with nothing on standard input.
pub(crate) fn honeycomb<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> CommandOutput {
    honeycomb_with(arguments, b"")
}

/// Runs `honeycomb` with `input` on standard input.
pub(crate) fn honeycomb_with<A: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    input: &[u8],
) -> CommandOutput {
    let mut child = Command::new(env!("CARGO_BIN_EXE_honeycomb"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early closes the pipe before it has read its input. This does not fail the test.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    CommandOutput { status: output.status.code().unwrap(), stdout: output.stdout, stderr }
}

impl fmt::Debug for CommandOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(formatter, "status {}\n--- stdout\n{stdout}\n--- stderr\n{}", self.status, self.stderr)
    }
}

impl CommandOutput {
    /// Checks for success and returns standard output.
    pub(crate) fn success(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        String::from_utf8(self.stdout).unwrap()
    }

    /// Checks for success and returns standard output as JSON.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.success()).unwrap()
    }

    /// Checks for a failure whose message contains all `parts`.
    pub(crate) fn fails_with(self, parts: &[&str]) {
        assert_eq!(self.status, 2, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {}", self.stderr);
        }
    }
}

/// A temporary directory for the files of a test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Returns the path of `name`.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().into()
    }

    /// Writes a file, creates its directories, and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = PathBuf::from(self.path(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        self.path(name)
    }

    /// Saves an image with the pairs of `lines` (TSV, escaped) in table `default`, and returns its path.
    pub(crate) fn store(&self, lines: &str) -> String {
        let image = self.path("store.honeycomb");
        let output = honeycomb_with(
            ["load", "--store", &image, "--format", "tsv", "--escaped", "-"],
            lines.as_bytes(),
        );
        output.success();
        image
    }

    /// Returns the names of the files in the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(AsRef::<Path>::as_ref(&self.0)).unwrap().map(name).collect();
        names.sort();
        names
    }
}

/// Checks that an index run compared all answers and all agree.
pub(crate) fn assert_agrees(report: &Value) {
    for kind in ["listings", "ranges", "largest"] {
        let compared = &report["comparison"][kind];
        assert_eq!(compared["agree"], compared["planned"], "{report}");
        assert!(compared["agree"].as_u64() > Some(0), "{report}");
    }
}
