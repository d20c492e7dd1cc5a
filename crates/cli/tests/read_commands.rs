//! `honeycomb get`, `scan`, `stats` and `verify` on saved stores.

mod common;

use std::fs;
use std::process::Command;

use common::{CommandOutput, Folder, honeycomb};

const LINES: &str = "a\\x00\t1\nb\ttwo\\nlines\nba\t3\nbb\\xff\té\\xfe\nc\t5\n";

/// Runs a command on `image`.
fn run_on(command: &str, image: &str, arguments: &[&str]) -> CommandOutput {
    honeycomb([command, "--store", image].into_iter().chain(arguments.iter().copied()))
}

#[test]
fn get_prints_the_bytes_of_the_value() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let bytes = |arguments: &[&str]| run_on("get", &image, arguments).stdout;
    assert_eq!(bytes(&["b"]), b"two\nlines");
    assert_eq!(bytes(&["bb\\xff"]), b"\xc3\xa9\xfe");
    assert_eq!(bytes(&["--hex", "6262ff"]), b"c3a9fe\n");
    assert_eq!(bytes(&["--base64", "YmL/"]), b"w6n+\n");
    let json = run_on("get", &image, &["--json", "bb\\xff"]).json();
    assert_eq!(json, serde_json::json!({"key": "bb\\xff", "found": true, "value": "é\\xfe"}));
}

#[test]
fn get_of_an_absent_key_exits_with_1() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let output = run_on("get", &image, &["nix"]);
    assert_eq!((output.status, output.stdout.len()), (1, 0));
    assert!(output.stderr.contains("no key nix in table `default`"), "{}", output.stderr);
    let output = run_on("get", &image, &["nix", "--json"]);
    assert_eq!(output.status, 1);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<String>(),
        r#"{"key":"nix","found":false}"#
    );
}

#[test]
fn scan_prints_pairs_in_key_order() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    assert_eq!(run_on("scan", &image, &[]).success(), LINES);
    let keys = |arguments: &[&str]| {
        let printed = run_on("scan", &image, &[&["--keys-only"], arguments].concat()).success();
        printed.lines().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(&[]), "a\\x00 b ba bb\\xff c");
    assert_eq!(keys(&["--prefix", "b"]), "b ba bb\\xff");
    assert_eq!(keys(&["--prefix", "a\\x00"]), "a\\x00");
    assert_eq!(keys(&["--from", "b", "--to", "c"]), "b ba bb\\xff");
    assert_eq!(keys(&["--from", "bz", "--floor-start"]), "bb\\xff c");
    assert_eq!(keys(&["--from", "a", "--floor-start", "--limit", "1"]), "a\\x00");
    assert_eq!(keys(&["--backward", "--limit", "2"]), "c bb\\xff");
    assert_eq!(keys(&["--backward", "--prefix", "b"]), "bb\\xff ba b");
    assert_eq!(keys(&["--limit", "0"]), "");
    assert_eq!(keys(&["--hex", "--from", "62", "--limit", "2"]), "62 6261");
    assert_eq!(keys(&["--from", "x"]), "");
}

#[test]
fn scan_prints_json_lines() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let printed = run_on("scan", &image, &["--json", "--prefix", "bb"]).success();
    assert_eq!(printed, "{\"key\":\"bb\\\\xff\",\"value\":\"é\\\\xfe\"}\n");
    let printed = run_on("scan", &image, &["--json", "--keys-only", "--limit", "1"]).success();
    assert_eq!(printed, "{\"key\":\"a\\\\x00\"}\n");
}

#[test]
fn a_long_scan_returns_all_pages() {
    let folder = Folder::new();
    let count = 150_000; // More than two pages of a scan.
    let lines: String = (0..count).map(|key| format!("{key:06}\t{key}\n")).collect();
    let image = folder.store(&lines);
    assert!(run_on("scan", &image, &[]).success() == lines);
    let backward = run_on("scan", &image, &["--backward", "--keys-only"]).success();
    assert!(backward.lines().eq((0..count).rev().map(|key| format!("{key:06}"))));
    let floor =
        run_on("scan", &image, &["--from", "000010x", "--floor-start", "--limit", "140000", "--keys-only"])
            .success();
    assert!(floor.lines().eq((10..140_010).map(|key| format!("{key:06}"))));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new();
    let lines: String = (0..50_000).map(|key| format!("{key}\t{key}\n")).collect();
    let image = folder.store(&lines);
    let pipe =
        format!("set -o pipefail; {} scan --store {image} | head -n 1", env!("CARGO_BIN_EXE_honeycomb"));
    let output = Command::new("bash").args(["-c", &pipe]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(output.stdout, b"0\t0\n");
}

#[test]
fn an_error_names_the_allowed_arguments() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    run_on("get", &image, &["--table", "nix", "a"]).fails_with(&["no table `nix`", "`default`"]);
    run_on("scan", &image, &["--table", "nix"]).fails_with(&["no table `nix`", "`default`"]);
    run_on("get", &image, &["\\q"]).fails_with(&["key `\\q`", "unknown escape", "allowed are"]);
    run_on("get", &image, &["--hex", "abc"]).fails_with(&["requires two"]);
    run_on("get", &image, &["a", "--memory", "lots"]).fails_with(&["lots", "such as 4GiB"]);
    run_on("scan", &image, &["--floor-start"]).fails_with(&["--from"]);
    run_on("scan", &image, &["--from", "a", "--floor-start", "--backward"]).fails_with(&["--backward"]);
    run_on("scan", &image, &["--prefix", "a", "--from", "b"]).fails_with(&["--prefix"]);
    run_on("scan", &image, &["--limit", "-1"]).fails_with(&["-1"]);
    honeycomb(["get", "a"]).fails_with(&["--store"]);
    honeycomb(["dance"]).fails_with(&["dance"]);
}

#[test]
fn an_invalid_image_is_rejected() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let bytes = fs::read(&image).unwrap();
    let cut = folder.write("cut", &bytes[..bytes.len() - 3]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    let flipped = folder.write("flipped", flipped);
    let text = folder.write("text", "this file is not an image\n");
    let empty = folder.write("empty", "");
    for command in ["scan", "stats", "verify"] {
        for path in [&cut, &flipped, &text, &empty] {
            run_on(command, path, &[]).fails_with(&[&format!("cannot load {path}: ")]);
        }
        run_on(command, "/no/such/image", &[]).fails_with(&["cannot open /no/such/image: "]);
    }
}

#[test]
fn stats_prints_the_contents_of_a_store() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let printed = run_on("stats", &image, &[]).success();
    assert!(printed.contains("default") && printed.contains("raw bytes"), "{printed}");
    let report = run_on("stats", &image, &["--json"]).json();
    assert_eq!(report["pairs"], 5, "{report}");
}

#[test]
fn verify_prints_the_checks() {
    let folder = Folder::new();
    let image = folder.store(LINES);
    let printed = run_on("verify", &image, &[]).success();
    assert!(printed.contains("no invariant is violated"), "{printed}");
    let report = run_on("verify", &image, &["--json"]).json();
    assert_eq!((&report["good"], &report["checked"]["pairs"]), (&true.into(), &5.into()), "{report}");
}
