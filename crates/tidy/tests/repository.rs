//! Holds this repository to the rules of the house.

use std::path::Path;
use std::process::Command;

use cargo_metadata::MetadataCommand;
use honeycomb_tidy::{
    Repository, Violation, atomics, cycles, docs, floors, lengths, manifests, modules, rooms, safety, words,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn repository() -> Repository {
    Repository::read(Path::new(ROOT)).expect("the sources can be read")
}

#[track_caller]
fn assert_none(violations: &[Violation]) {
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} places break the rule:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn crates_import_lower_floors_only() {
    let mut command = MetadataCommand::new();
    let metadata = command.current_dir(ROOT).no_deps().exec().expect("cargo metadata runs");
    assert_none(&floors::check(&repository(), &floors::packages(&metadata)));
}

#[test]
fn files_import_each_other_in_one_direction() {
    assert_none(&cycles::check(&repository()));
}

#[test]
fn rooms_import_lower_rooms_only() {
    assert_none(&rooms::check(&repository()));
}

#[test]
fn lines_functions_and_modules_are_short() {
    assert_none(&lengths::check(&repository()).expect("python3 can be run and parses every Python source"));
}

#[test]
fn crates_state_no_versions_of_their_own() {
    assert_none(&manifests::check(&repository()));
}

#[test]
fn modules_use_lower_floors_only() {
    assert_none(&modules::check(&repository()));
}

#[test]
fn unsafe_stays_in_its_crates_and_says_why() {
    assert_none(&safety::check(&repository()));
}

#[test]
fn atomics_come_through_the_seam() {
    assert_none(&atomics::check(&repository()));
}

#[test]
fn things_go_by_their_words() {
    assert_none(&words::check(&repository()));
}

#[test]
fn documents_tell_of_what_exists() {
    assert_none(&docs::check(&repository(), |path| Path::new(ROOT).join(path).exists()));
}

#[test]
fn generated_files_are_up_to_date() {
    python(&["layout/generate.py", "--check"]);
}

#[test]
fn mutants_are_of_the_code_as_it_is() {
    python(&["tools/mutants.py", "--list"]);
    python(&["tools/rtl_mutants.py", "--list"]);
}

#[track_caller]
fn python(words: &[&str]) {
    let output = Command::new("python3").args(words).current_dir(ROOT).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
