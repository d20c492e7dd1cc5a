//! Translates `rtl/` to C++ with Verilator, and compiles it.
//!
//! `HONEYCOMB_RTL_MODEL=none` skips both, which suffices for `cargo check` and `cargo clippy`: they link
//! nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The runtime of every Verilated model.
const RUNTIME: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];

/// The assertions of `rtl/` are conditions in the code. Those of Verilator's `--assert` cost an eighth of the
/// speed, and each instance would have code of its own for messages.
const CHECKS: &str = "+define+ASSERTIONS_WITHOUT_SCOPES";
/// With these options all instances of a module in `shim/instances.vlt` share one code, so that the code of
/// many places for requests fits into the caches of a processor: the simulation with the places of the
/// figures is 1.25 times as fast, that with the default ones 0.77 times.
const SHARED_CODE: [&str; 7] =
    ["-fno-dfg", "-fno-gate", "-fno-table", "--output-split", "4000", "--output-split-cfuncs", "400"];
/// Larger functions, which suit fewer instances.
const SEPARATE_CODE: [&str; 4] = ["--output-split", "20000", "--output-split-cfuncs", "3000"];
/// Places of requests in all units from which on instances share one code.
const SHARED_PLACES: usize = 64;

fn main() {
    if let Err(error) = build() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let repository = manifest.ancestors().nth(2).ok_or("the crate is not in a workspace")?.to_path_buf();
    let rtl = repository.join("rtl");
    for path in sources(&rtl)? {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for name in ["build.rs", "shim"] {
        println!("cargo::rerun-if-changed={}", manifest.join(name).display());
    }
    for (name, value) in parameters() {
        println!("cargo::rustc-env=HONEYCOMB_RTL_{name}={value}");
    }
    println!("cargo::rustc-env=HONEYCOMB_RTL_Unknowns={}", unknowns()?);
    if variable("HONEYCOMB_RTL_MODEL").is_ok_and(|model| model == "none") {
        return Ok(());
    }
    let verilator = Verilator::find(&repository)?;
    let model = PathBuf::from(variable("OUT_DIR")?).join("model");
    let shim = manifest.join("shim");
    verilator.translate(&rtl, &shim, &model)?;
    verilator.compile(&shim, &model)
}

fn variable(name: &str) -> Result<String, String> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).map_err(|_| format!("{name} is not set"))
}

/// Returns the sources of the model, without tests.
fn sources(rtl: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = vec![rtl.join("files.f"), rtl.join("layout_pkg.sv")];
    for folder in ["common", "memory", "btree", "top"].map(|folder| rtl.join(folder)) {
        found.push(folder.clone());
        let unreadable = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            found.push(entry.map_err(unreadable)?.path());
        }
    }
    Ok(found)
}

/// Returns the parameters of accelerator_top that the crate must know, with those that the environment
/// overrides, such as "SearchUnits=14 ScanUnits=14".
fn parameters() -> BTreeMap<String, String> {
    let given = variable("HONEYCOMB_RTL_PARAMETERS").unwrap_or_default();
    let defaults = "SearchUnits=4 SearchDescents=2 ScanUnits=2 ScanSlots=4 LidCount=65536".split_whitespace();
    let all = defaults.chain(given.split_whitespace()).filter_map(|parameter| parameter.split_once('='));
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the kind of values that are unknown in SystemVerilog, such as registers before their reset: `fast`
/// ones are constants, mostly zeros, and `unique` ones follow from the seed of the machine.
/// `HONEYCOMB_RTL_UNKNOWNS` selects it.
fn unknowns() -> Result<String, String> {
    let kind = variable("HONEYCOMB_RTL_UNKNOWNS").unwrap_or_else(|_| "fast".to_owned());
    if ["fast", "unique"].contains(&kind.as_str()) {
        return Ok(kind);
    }
    Err(format!("HONEYCOMB_RTL_UNKNOWNS is {kind}, but must be fast or unique"))
}

/// Returns the requests that all key search units and range scan units have room for.
fn places() -> usize {
    let parameters = parameters();
    let number = |name: &str| parameters.get(name).and_then(|value| value.parse().ok()).unwrap_or(0_usize);
    number("SearchUnits") * number("SearchDescents") + number("ScanUnits") * number("ScanSlots")
}

/// Returns whether the model can write waveforms, which makes it slower.
fn traces() -> bool {
    env::var_os("CARGO_FEATURE_TRACE").is_some()
}

struct Verilator {
    root: PathBuf,
    program: PathBuf,
}

impl Verilator {
    /// Finds Verilator in `VERILATOR_ROOT`, in the environment of `make setup`, or on the path, in this
    /// order.
    fn find(repository: &Path) -> Result<Self, String> {
        let from_environment = variable("VERILATOR_ROOT").ok().map(PathBuf::from);
        let root = from_environment.or_else(|| installed_by_setup(repository)).or_else(on_path);
        let root =
            root.ok_or("Verilator not found; run `make setup` to install it, or set VERILATOR_ROOT")?;
        let program = root.join("bin/verilator_bin");
        if !program.exists() {
            return Err(format!("{} not found; run `make setup` to install Verilator", program.display()));
        }
        Ok(Self { root, program })
    }

    fn translate(&self, rtl: &Path, shim: &Path, model: &Path) -> Result<(), String> {
        // Files of an earlier model must not be compiled with this one.
        let _ = fs::remove_dir_all(model);
        let mut command = Command::new(&self.program);
        command.env("VERILATOR_ROOT", &self.root).arg("--cc").arg("-F").arg(rtl.join("files.f"));
        command.args(["--top-module", "accelerator_top", "--prefix", "Model", "-O3"]);
        let unknowns = unknowns()?;
        command.args(["--x-assign", &unknowns, "--x-initial", &unknowns, "-Wno-fatal", "-Wno-WIDTH"]);
        command.args([CHECKS, "-GReportsEvents=1", "--Mdir"]).arg(model).arg(shim.join("counters.vlt"));
        if places() >= SHARED_PLACES {
            command.args(SHARED_CODE).arg(shim.join("instances.vlt"));
        } else {
            command.args(SEPARATE_CODE);
        }
        if traces() {
            command.arg("--trace-fst");
        }
        command.args(parameters().iter().map(|(name, value)| format!("-G{name}={value}")));
        command.arg(rtl.join("top/accelerator_top.sv"));
        let output = command.output().map_err(|error| format!("{}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("Verilator: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
    }

    fn compile(&self, shim: &Path, model: &Path) -> Result<(), String> {
        let include = self.root.join("include");
        let unreadable = |error| format!("{}: {error}", model.display());
        let mut files = vec![shim.join("shim.cpp")];
        files.extend(RUNTIME.map(|name| include.join(name)));
        for entry in fs::read_dir(model).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "cpp") {
                files.push(path);
            }
        }
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(2).debug(false).warnings(false).files(files);
        // Functions that no other library can replace may be inlined.
        build.flag_if_supported("-fvisibility=hidden");
        build.include(model).include(shim).include(&include).include(include.join("vltstd"));
        if traces() {
            build.file(include.join("verilated_fst_c.cpp")).define("HONEYCOMB_TRACE", None);
            build.define("VM_TRACE", "1").define("VM_TRACE_FST", "1").define("VM_TRACE_VCD", "0");
            build.define("VM_TRACE_SAIF", "0");
            // Set by the crates lz4-sys and libz-sys.
            for name in ["DEP_LZ4_INCLUDE", "DEP_Z_INCLUDE"] {
                build.includes(variable(name).ok().map(PathBuf::from));
            }
        }
        build.try_compile("honeycomb_model").map_err(|error| format!("the C++ compiler: {error}"))
    }
}

/// Returns the Python package that `make setup` installs, for any version of Python.
fn installed_by_setup(repository: &Path) -> Option<PathBuf> {
    let libraries = fs::read_dir(repository.join(".venv/lib")).ok()?;
    let roots = libraries.flatten().map(|entry| entry.path().join("site-packages/verilator"));
    roots.into_iter().find(|root| root.exists())
}

/// Returns the root that the Verilator on the path reports.
fn on_path() -> Option<PathBuf> {
    let output = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output().ok()?;
    let root = String::from_utf8(output.stdout).ok()?;
    (!root.trim().is_empty()).then(|| PathBuf::from(root.trim()))
}
