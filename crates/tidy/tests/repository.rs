//! Applies all rules to this repository.

use std::path::Path;
use std::process::Command;

use cargo_metadata::MetadataCommand;
use honeycomb_tidy::{
    Repository, Violation, atomics, cycles, docs, import_style, layers, lengths, manifests, modules, rooms,
    safety, words,
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
fn crates_import_lower_layers_only() {
    let mut command = MetadataCommand::new();
    let metadata = command.current_dir(ROOT).no_deps().exec().expect("cargo metadata runs");
    assert_none(&layers::check(&repository(), &layers::packages(&metadata)));
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
fn imports_have_one_style() {
    assert_none(&import_style::check(&repository()));
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
fn modules_use_lower_folders_only() {
    assert_none(&modules::check(&repository()));
}

#[test]
fn unsafe_stays_in_its_crates_and_says_why() {
    assert_none(&safety::check(&repository()));
}

#[test]
fn atomics_come_from_the_module_sync() {
    assert_none(&atomics::check(&repository()));
}

#[test]
fn words_and_prose_are_those_of_the_field() {
    assert_none(&words::check(&repository()));
}

#[test]
fn documentation_names_only_what_exists() {
    assert_none(&docs::check(&repository(), |path| Path::new(ROOT).join(path).exists()));
}

#[test]
fn generated_files_are_up_to_date() {
    python(&["layout/generate.py", "--check"]);
}

#[test]
fn mutants_match_the_code() {
    python(&["tools/mutants.py", "--list"]);
    python(&["tools/rtl_mutants.py", "--list"]);
}

#[track_caller]
fn python(words: &[&str]) {
    let output = Command::new("python3").args(words).current_dir(ROOT).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
