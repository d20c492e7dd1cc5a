//! `honeycomb load`: all formats, all encodings, and errors of the input.

mod common;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};

use common::{Folder, honeycomb, honeycomb_with};

/// Loads `input` in `format` with further arguments and returns the contents of the store.
fn loaded(format: &str, arguments: &[&str], input: &[u8]) -> String {
    let folder = Folder::new();
    let image = folder.path("image");
    let load =
        ["load", "--store", &image, "--format", format, "-"].into_iter().chain(arguments.iter().copied());
    honeycomb_with(load, input).success();
    honeycomb(["scan", "--store", &image]).success()
}

#[test]
fn tsv_has_no_quotes() {
    assert_eq!(loaded("tsv", &[], b"b\t\"2\"\na\t1\\t\textra\n\nc\t\r\n"), "a\t1\\\\t\nb\t\"2\"\nc\t\n");
}

#[test]
fn tsv_lines_end_with_line_feeds() {
    assert_eq!(loaded("tsv", &[], b"k\ta\rb\tc\nx\ty\r"), "k\ta\\rb\nx\ty\n");
    assert_eq!(loaded("tsv", &[], b"k\tv\r\r\n\r\n\rx\ty\r\n"), "\\rx\ty\nk\tv\\r\n");
    let columns = ["--key-column", "b", "--value-column", "a"];
    assert_eq!(loaded("tsv", &columns, b"\r\na\tb\r\n1\t2\r\n"), "2\t1\n");
}

#[test]
fn csv_has_quotes_and_headers() {
    let input = b"name,age,email\n\"Ada, Countess\",36,ada@x\nBob,\"4\"\"2\",bob@x\n";
    let arguments = ["--key-column", "email", "--value-column", "name"];
    assert_eq!(loaded("csv", &arguments, input), "ada@x\tAda, Countess\nbob@x\tBob\n");
    let arguments = ["--header", "--key-column", "3", "--value-column", "2"];
    assert_eq!(loaded("csv", &arguments, input), "ada@x\t36\nbob@x\t4\"2\n");
}

#[test]
fn json_lines_are_objects() {
    let input = "{\"key\": \"k\\u00e9\", \"value\": \"a\\nb\"}\n\n  {\"value\":\"\",\"key\":\"x\"}";
    assert_eq!(loaded("jsonl", &[], input.as_bytes()), "ké\ta\\nb\nx\t\n");
}

#[test]
fn load_get_and_stats_know_unordered_tables() {
    let folder = Folder::new();
    let image = folder.path("image");
    let load = ["load", "--store", &image, "--format", "tsv", "--unordered", "--table", "u", "-"];
    honeycomb_with(load, b"b\t2\na\t1\nb\t3\n").success();
    assert_eq!(honeycomb(["get", "--store", &image, "--table", "u", "b"]).success(), "3");
    let stats = honeycomb(["stats", "--store", &image]).success();
    assert!(stats.contains("in unordered table `u`") && stats.contains("table pages"), "{stats}");
    let scan = honeycomb(["scan", "--store", &image, "--table", "u"]);
    scan.fails_with(&["table `u` is unordered, not ordered"]);
    honeycomb(["verify", "--store", &image]).success();
}

#[test]
fn load_creates_unordered_tables_with_parameters() {
    let folder = Folder::new();
    let load = |table: &str, parameter: &str, value: &str| {
        let image = folder.path("image");
        let input = ["load", "--store", &image, "--format", "tsv", "--table", table, "-", "--unordered"];
        honeycomb_with(input.into_iter().chain([parameter, value]), b"a\t1\n")
    };
    for (name, [least, most, below, above], problem) in [
        ("buckets", ["1", "4096", "0", "33554432"], "a power of two from 1 to 16777216"),
        ("fill", ["0", "100", "-1", "101"], "from 1 to 100"),
        ("inline", ["0", "50", "-1", "51"], "from 0 to 50"),
    ] {
        let parameter = format!("--unordered-{name}");
        load(&format!("{name}-least"), &parameter, least).success();
        load(&format!("{name}-most"), &parameter, most).success();
        let no_number = if below == "-1" { "unexpected argument" } else { problem };
        load("none", &parameter, below).fails_with(&[no_number]);
        load("none", &parameter, above).fails_with(&[problem]);
    }
    let stats = honeycomb(["stats", "--json", "--store", &folder.path("image")]).success();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let tables = stats["tables"].as_array().unwrap();
    let table = |name: &str| &tables.iter().find(|table| table["name"] == name).unwrap()["unordered"];
    assert_eq!(
        (&table("buckets-most")["buckets"], &table("fill-most")["buckets"]),
        (&4096.into(), &1024.into())
    );
    let bytes = |name: &str, field: &str| table(name)[field].as_u64().unwrap();
    let in_slabs = |name| bytes(name, "slab_bytes") - bytes(name, "free_slab_bytes");
    assert_eq!([in_slabs("inline-least"), in_slabs("inline-most")], [32, 0]);
    let ordered = honeycomb(["load", "--format", "tsv", "--unordered-fill", "9", "-"]);
    ordered.fails_with(&["--unordered"]);
}

#[test]
fn the_last_value_of_a_key_wins() {
    assert_eq!(loaded("tsv", &[], b"a\t1\na\t2\n"), "a\t2\n");
}

#[test]
fn keys_and_values_have_four_encodings() {
    let expected = "\\x00\\xff\tv\n";
    assert_eq!(loaded("tsv", &["--escaped"], b"\\x00\\xff\tv\n"), expected);
    assert_eq!(loaded("csv", &["--hex"], b"00FF,76\n"), expected);
    assert_eq!(loaded("jsonl", &["--base64"], b"{\"key\":\"AP8=\",\"value\":\"dg==\"}"), expected);
    assert_eq!(loaded("tsv", &[], b"\0\xff\tv\n"), expected);
}

#[test]
fn load_reads_the_output_of_scan() {
    let folder = Folder::new();
    let image = folder.store("a\\\\b\t\\x00\\t\\n\nz\\xff\té\n");
    for (form, json) in [("--escaped", false), ("--escaped", true), ("--hex", false), ("--base64", true)] {
        let scan = ["scan", "--store", &image].into_iter().map(String::from);
        let form_of_scan = (form != "--escaped").then(|| form.to_string());
        let printed = honeycomb(scan.chain(form_of_scan).chain(json.then(|| "--json".into()))).success();
        let again = loaded(if json { "jsonl" } else { "tsv" }, &[form], printed.as_bytes());
        assert_eq!(again, honeycomb(["scan", "--store", &image]).success(), "{form} {json}");
    }
}

#[test]
fn the_extension_determines_the_format() {
    let folder = Folder::new();
    for (name, content) in [
        ("a.tsv", "k\tv\n"),
        ("a.TAB", "k\tv\n"),
        ("a.csv", "k,v\n"),
        ("a.jsonl", "{\"key\":\"k\",\"value\":\"v\"}\n"),
        ("a.ndjson", "{\"key\":\"k\",\"value\":\"v\"}\n"),
    ] {
        let report = honeycomb(["load", "--json", &folder.write(name, content)]).json();
        assert_eq!((&report["pairs"], &report["raw_bytes"]), (&1.into(), &2.into()), "{name}: {report}");
    }
    let path = folder.write("a.txt", "k\tv\n");
    honeycomb(["load", &path]).fails_with(&[&path, "is unknown", "--format tsv, csv or jsonl"]);
    honeycomb(["load", "-"]).fails_with(&["the format of standard input is unknown"]);
}

#[test]
fn a_load_extends_an_image() {
    let folder = Folder::new();
    let image = folder.store("a\t1\nb\t2\n");
    let load = ["load", "--store", &image, "--format", "tsv", "-"];
    let printed = honeycomb_with(load, b"b\t3\nc\t4\n").success();
    assert!(printed.contains("saved in") && printed.contains("pairs"), "{printed}");
    honeycomb_with(load.into_iter().chain(["--table", "other"]), b"x\ty\n").success();
    assert_eq!(honeycomb(["scan", "--store", &image]).success(), "a\t1\nb\t3\nc\t4\n");
    assert_eq!(honeycomb(["scan", "--store", &image, "--table", "other"]).success(), "x\ty\n");
    assert_eq!(folder.names(), ["store.honeycomb"]);
}

/// Starts a load that has loaded its image and waits for the end of its input.
fn unfinished_load(image: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_honeycomb"));
    command.args(["load", "--store", image, "--format", "tsv", "-"]);
    let mut load = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The pipe has no room for all of it before the command reads.
    let lines: String = (0..100_000).map(|number| format!("first {number:06}\t1\n")).collect();
    load.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    load
}

#[test]
fn only_one_command_extends_an_image() {
    let folder = Folder::new();
    let image = folder.path("image");
    let tree = folder.write("tree/file", "content").replace("/file", "");
    let mut first = unfinished_load(&image);
    let second = ["load", "--store", &image, "--format", "tsv", "-"];
    honeycomb_with(second, b"second\t2\n").fails_with(&[&image, "is in use: another command extends it"]);
    honeycomb(["index", "--store", &image, &tree]).fails_with(&[&image, "is in use"]);
    assert_eq!(folder.names(), ["image.draft", "tree"]);
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    honeycomb_with(second, b"second\t2\n").success();
    let last = ["scan", "--store", &image, "--from", "first 099999"];
    assert_eq!(honeycomb(last).success(), "first 099999\t1\nsecond\t2\n");
    assert_eq!(folder.names(), ["image", "tree"]);
}

#[test]
fn a_killed_load_leaves_the_image_and_a_draft_that_the_next_one_uses() {
    let folder = Folder::new();
    let image = folder.store("a\t1\n");
    let draft = format!("{image}.draft");
    let mut killed = unfinished_load(&image);
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::write(&draft, vec![7; 100_000]).unwrap();
    assert_eq!(honeycomb(["scan", "--store", &image]).success(), "a\t1\n");
    honeycomb_with(["load", "--store", &image, "--format", "tsv", "-"], b"b\t2\n").success();
    assert_eq!(honeycomb(["scan", "--store", &image]).success(), "a\t1\nb\t2\n");
    assert_eq!(folder.names(), ["store.honeycomb"]);
}

#[test]
fn an_extended_image_keeps_its_permissions_and_its_links() {
    let folder = Folder::new();
    let (image, link) = (folder.store("a\t1\n"), folder.path("link"));
    fs::set_permissions(&image, Permissions::from_mode(0o600)).unwrap();
    symlink("store.honeycomb", &link).unwrap();
    let report =
        honeycomb_with(["load", "--json", "--store", &link, "--format", "tsv", "-"], b"b\t2\n").json();
    assert_eq!(report["saved"]["image"], *link);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&image).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(honeycomb(["scan", "--store", &image]).success(), "a\t1\nb\t2\n");
    assert_eq!(folder.names(), ["link", "store.honeycomb"]);
}

#[test]
fn an_invalid_line_is_named_and_prevents_the_save() {
    let folder = Folder::new();
    let image = folder.path("image");
    let long = format!("ok\tv\n{}\tv\n", "k".repeat(461));
    let many_lines = format!("{}\r\nc", "key,value\r\n".repeat(40_000));
    for (format, arguments, input, parts) in [
        ("tsv", &[][..], "a\tb\nc\n", &[":2: no column 2: the line has 1"][..]),
        ("csv", &["--key-column", "3"], "a,b\n", &[":1: no column 3: the line has 2"]),
        ("csv", &[], "a,\"b\n1\"\nc\n", &[":3: no column 2"]),
        (
            "jsonl",
            &[],
            "{\"key\":\"a\",\"value\":\"b\"}\nnot json\n",
            &[":2: column 2:", "allowed is one object"],
        ),
        ("jsonl", &[], "{\"key\":1,\"value\":\"b\"}\n", &[":1:", "invalid type: integer `1`", "two strings"]),
        ("jsonl", &[], "{\"key\":\"a\"}\n", &[":1:", "missing field `value`"]),
        ("jsonl", &[], "{\"key\":\"a\",\"value\":\"b\",\"x\":1}\n", &[":1:", "unknown field `x`"]),
        ("tsv", &[], "\n\na\tb\n\nc\n", &[":5: no column 2"]),
        ("tsv", &[], "a\tb\r\n\r\nc", &[":3: no column 2"]),
        ("csv", &[], "\n\na,b\n\n\nc\n", &[":6: no column 2"]),
        ("csv", &[], "\r\na,b\r\nc\r\n", &[":3: no column 2"]),
        ("csv", &[], "a,\"b\n\n1\"\r\n\r\nc\n", &[":5: no column 2"]),
        ("csv", &["--header"], "\na,b\n\nc\n", &[":4: no column 2"]),
        ("csv", &[], &many_lines, &[":40002: no column 2"]),
        ("tsv", &["--hex"], "00\t0g\n", &[":1: value: `g` is not a hexadecimal digit"]),
        ("tsv", &["--base64"], "?\tAA==\n", &[":1: key: not Base64"]),
        ("tsv", &["--escaped"], "a\t\\q\n", &[":1: value: unknown escape `\\q`"]),
        ("tsv", &[], "\tempty key\n", &[":1: ", "460"]),
        ("tsv", &[], &long, &[":2: ", "461", "460"]),
    ] {
        let load =
            ["load", "--store", &image, "--format", format, "-"].into_iter().chain(arguments.iter().copied());
        let output = honeycomb_with(load, input.as_bytes());
        output.fails_with(&[&["standard input"], parts].concat());
        assert_eq!(folder.names(), [""; 0], "{input}");
    }
}

#[test]
fn skipped_lines_are_counted() {
    let input = b"a\t1\nbad\nb\t2\nworse\n";
    let load = ["load", "--format", "tsv", "--skip-bad", "-"];
    let report = honeycomb_with(load.into_iter().chain(["--json"]), input).json();
    assert_eq!((&report["pairs"], &report["skipped"]["count"]), (&2.into(), &2.into()), "{report}");
    assert!(report["skipped"]["named"][1].as_str().unwrap().starts_with("standard input:4: no column 2"));
    let printed = honeycomb_with(load, input).success();
    assert!(
        printed.contains("lines that are not pairs") && printed.contains("standard input:2:"),
        "{printed}"
    );
}

#[test]
fn an_error_names_the_allowed_arguments() {
    let load = |arguments: &[&str]| {
        honeycomb_with(
            ["load", "--format", "csv", "-"].into_iter().chain(arguments.iter().copied()),
            b"a,b\n1,2\n",
        )
    };
    load(&["--key-column", "c"]).fails_with(&["no column `c`", "`a`, `b`"]);
    let empty = honeycomb(["load", "--format", "csv", "--key-column", "c", "-"]);
    empty.fails_with(&["no column `c`; it is empty"]);
    load(&["--key-column", "0"]).fails_with(&["no column 0", "numbered from 1"]);
    load(&["--hex", "--base64"]).fails_with(&["--hex", "--base64"]);
    load(&["--memory", "4GB"]).fails_with(&["4GB", "unknown unit `GB`", "such as 4GiB"]);
    load(&["--memory", "7B"]).fails_with(&["honeycomb: "]);
    load(&["--table", ""]).fails_with(&["honeycomb: "]);
    honeycomb(["load", "/no/such/file.csv"]).fails_with(&["cannot open /no/such/file.csv: "]);
    honeycomb(["load", "--format", "xml", "-"]).fails_with(&["xml", "tsv, csv, jsonl"]);
    honeycomb(["load", "--format", "csv", "--store", "/no/such/folder/image", "-"])
        .fails_with(&["cannot create /no/"]);
}

#[test]
fn a_full_store_is_reported() {
    let pairs: String = (0..100_000).map(|key| format!("{key}\t{}\n", "v".repeat(100))).collect();
    let output = honeycomb_with(["load", "--format", "tsv", "--memory", "4MiB", "-"], pairs.as_bytes());
    output.fails_with(&["out of memory", "--memory 4GiB"]);
}
