//! `honeycomb index` on generated directory trees.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use common::{CommandOutput, Folder, assert_agrees, honeycomb};

/// Creates a tree with large and empty files, links, unusual names and deep directories.
fn tree(folder: &Folder) -> String {
    folder.write("tree/README", "read me");
    folder.write("tree/empty", "");
    folder.write("tree/bin/bee", vec![7; 100_000]);
    folder.write("tree/bin-more/wax", vec![8; 65_536]);
    folder.write("tree/bin/deep/er/still/honey", "golden");
    folder.write("tree/tab\tand\\slash\n", "odd");
    (0..300).for_each(|number| drop(folder.write(&format!("tree/many/{number}"), number.to_string())));
    let root = folder.path("tree");
    fs::create_dir(Path::new(&root).join("bare")).unwrap();
    fs::write(Path::new(&root).join(OsStr::from_bytes(b"not\xffutf8\x01")), "odd").unwrap();
    // 5 MiB: 40 chunks of 128 KiB, all different.
    folder.write("tree/large", (0..5_u32 << 18).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    symlink("/no/such/place", Path::new(&root).join("dangling")).unwrap();
    symlink("bin", Path::new(&root).join("link")).unwrap();
    root
}

fn index(root: &str, arguments: &[&str]) -> CommandOutput {
    honeycomb(["index", "--ranges", "500", root].into_iter().chain(arguments.iter().copied()))
}

#[test]
fn all_answers_about_a_tree_agree() {
    let folder = Folder::new();
    let report = index(&tree(&folder), &["--json", "--seed", "7"]).json();
    assert_agrees(&report);
    let walk = &report["walk"];
    let kinds = [&walk["files"], &walk["directories"], &walk["others"]];
    assert_eq!(kinds, [308, 8, 2].map(Value::from).each_ref(), "{walk}");
    assert_eq!(report["seed"], 7);
    assert_eq!(report["stored"]["chunks"], 305 + 2 + 40);
    assert_eq!(report["stored"]["read_bytes"], walk["file_bytes"]);
    let shown = &report["shown"];
    assert_eq!(shown["largest"][0]["bytes"], 5 << 20);
    assert_eq!(shown["listing"].as_array().unwrap().len(), 11);
    assert_eq!(shown["listing"][9], "not\\xffutf8\\x01");
    let middle = &shown["range"]["chunks"];
    assert_eq!(
        (&middle[0]["offset"], &middle[0]["bytes"]),
        (&(20 * (128 << 10)).into(), &(128 << 10).into())
    );
    assert!(middle[0]["crc32c"].is_string(), "{middle}");
}

#[test]
fn the_report_for_people_names_all_steps() {
    let folder = Folder::new();
    let printed = index(&tree(&folder), &[]).success();
    for part in [
        "walked in",
        "308",
        "compared with the file system in ",
        ", seed ",
        "no answer differs",
        "tree height",
    ] {
        assert!(printed.contains(part), "{part:?} is missing in {printed}");
    }
    assert!(printed.lines().all(|line| line == line.trim_end()), "{printed:?}");
}

#[test]
fn without_checksums_nothing_is_read() {
    let folder = Folder::new();
    let report = index(&tree(&folder), &["--json", "--no-checksum"]).json();
    assert_agrees(&report);
    assert_eq!(report["stored"]["read_bytes"], 0);
    assert!(report["shown"]["range"]["chunks"][0]["crc32c"].is_null());
}

#[test]
fn without_time_no_answer_is_compared() {
    let folder = Folder::new();
    let printed = index(&tree(&folder), &["--compare-seconds", "0"]).success();
    assert!(
        printed.contains("no answer was compared") && printed.contains("no time for 8 more"),
        "{printed}"
    );
}

#[test]
fn the_limits_of_a_comparison_have_a_maximum() {
    let folder = Folder::new();
    let root = format!("{}/bare", tree(&folder));
    index(&root, &["--compare-seconds", "31536000"]).success();
    index(&root, &["--compare-seconds", "31536001"]).fails_with(&["--compare-seconds", "0..=31536000"]);
    let ranges = |count| honeycomb(["index", "--ranges", count, &root]);
    ranges("100000000").success();
    ranges("100000001").fails_with(&["--ranges", "0..=100000000"]);
    honeycomb(["tour", "--compare-seconds", "31536001", &root]).fails_with(&["0..=31536000"]);
}

#[test]
fn a_saved_index_can_be_read() {
    let folder = Folder::new();
    let (root, image) = (fs::canonicalize(tree(&folder)).unwrap(), folder.path("image"));
    let root = root.to_str().unwrap();
    index(root, &["--store", &image]).success();
    let scan = |prefix: &str| {
        let scan = ["scan", "--store", &image, "--table", "files", "--keys-only", "--prefix"];
        let printed = honeycomb(scan.into_iter().chain([format!("{root}{prefix}").as_str()])).success();
        printed.lines().map(|line| line.strip_prefix(root).unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(scan("/bin/\\x00"), ["/bin/\\x00bee", "/bin/\\x00deep"]);
    let below = ["/bin/\\x00bee", "/bin/\\x00deep", "/bin/deep/\\x00er", "/bin/deep/er/\\x00still"];
    assert_eq!(scan("/bin/")[..4], below);
    let record = ["get", "--store", &image, "--table", "files", "--hex"];
    let key: String = format!("{root}/\0README").bytes().map(|byte| format!("{byte:02x}")).collect();
    let record = honeycomb(record.into_iter().chain([key.as_str()])).success();
    assert_eq!(record.trim_end().len(), 2 * 48);
    assert_eq!(record[32..48], *"0700000000000000");
    honeycomb(["verify", "--store", &image]).success();
}

#[test]
fn a_second_index_replaces_the_first() {
    let folder = Folder::new();
    let (root, image) = (tree(&folder), folder.path("image"));
    index(&root, &["--store", &image]).success();
    fs::remove_dir_all(Path::new(&root).join("many")).unwrap();
    folder.write("tree/new", "new");
    let report = index(&root, &["--store", &image, "--json"]).json();
    assert_agrees(&report);
    let stored = |name: &str| report["stored"][name].as_u64().unwrap();
    assert_eq!(stored("forgotten") + 1 - 301, stored("files"));
    // The counter of identifiers is one more pair.
    assert_eq!(report["saved"]["pairs"].as_u64(), Some(stored("files") + stored("chunks") + 1));
}

#[test]
fn two_trees_share_a_store() {
    let folder = Folder::new();
    let (root, image) = (tree(&folder), folder.path("image"));
    let other = folder.write("other/file", "content").replace("/file", "");
    index(&root, &["--store", &image]).success();
    let report = index(&other, &["--store", &image, "--json"]).json();
    assert_agrees(&report);
    assert_eq!((&report["stored"]["forgotten"], &report["stored"]["files"]), (&0.into(), &2.into()));
    assert!(report["saved"]["pairs"].as_u64() > Some(317));
}

#[test]
fn paths_that_are_too_long_are_counted_and_named() {
    let folder = Folder::new();
    let root = tree(&folder);
    let deep = ["d"; 6].map(|name| name.repeat(80)).join("/");
    folder.write(&format!("tree/{deep}/file"), "out of reach");
    let report = index(&root, &["--json"]).json();
    assert_agrees(&report);
    assert!(report["walk"]["too_long"]["count"].as_u64() >= Some(2), "{report}");
    assert!(report["walk"]["too_long"]["named"][0].as_str().unwrap().contains("dddd"));
    let printed = index(&root, &[]).success();
    assert!(printed.contains("path too long"), "{printed}");
}

#[test]
fn a_link_to_a_directory_is_resolved() {
    let folder = Folder::new();
    let root = tree(&folder);
    let report = index(&format!("{root}/link"), &["--json"]).json();
    assert_agrees(&report);
    assert!(report["walk"]["directory"].as_str().unwrap().ends_with("/tree/bin"), "{report}");
}

#[test]
fn an_empty_directory_can_be_indexed() {
    let folder = Folder::new();
    let root = format!("{}/bare", tree(&folder));
    let printed = index(&root, &[]).success();
    assert!(printed.contains("no answer differs"), "{printed}");
}

#[test]
fn an_invalid_directory_or_image_is_rejected() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    index(&file, &[]).fails_with(&["cannot list ", "file: "]);
    index("/no/such/directory", &[]).fails_with(&["cannot read /no/such/directory: "]);
    let root = tree(&folder);
    index(&root, &["--store", &file]).fails_with(&[&format!("cannot load {file}")]);
    index(&root, &["--memory", "1"]).fails_with(&["such as 4GiB"]);
    index(&root, &["--memory", "64KiB"]).fails_with(&["out of memory", "--memory 4GiB"]);
}
