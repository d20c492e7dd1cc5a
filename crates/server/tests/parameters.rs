//! Parameters: files, CONFIG GET and SET, limits and documentation.
#![allow(missing_docs)]

mod common;

use std::time::Duration;

use honeycomb_server::{Config, LogFormat, PARAMETERS, Parameter};

use common::{Client, dialogue, show, start_with};

#[test]
fn a_written_configuration_reads_back() {
    let config = Config {
        address: ([0, 0, 0, 0], 7000).into(),
        cores: 3,
        cpu_affinity: true,
        memory_bytes: (5 << 30) + 1,
        password: Some("00\"7".into()),
        idle_timeout: Duration::from_secs(9),
        slow_log_threshold: None,
        metrics: Some(([127, 0, 0, 1], 9121).into()),
        count_accesses: true,
        log_format: LogFormat::Json,
        log_level: tracing::Level::WARN,
        ..Config::default()
    };
    let mut read = Config::default();
    read.read_toml(&config.to_toml()).unwrap();
    assert_eq!(read, config);
}

#[test]
fn errors_name_the_invalid_parameter() {
    let error = |text: &str| Config::default().read_toml(text).unwrap_err().to_string();
    assert_eq!(error("cores = 1025"), "cores is 1025: allowed are 1 to 1024");
    assert_eq!(error("memory = '4 bees'"), "memory is 4 bees: allowed are 1MiB to 16TiB");
    assert_eq!(error("accelerator-counters = true"), "accelerator-counters is true: allowed are yes, no");
    let allowed = "software, and further accelerators that the program was built with";
    assert_eq!(error("accelerator = 'fpga'"), format!("accelerator is fpga: allowed are {allowed}"));
    let allowed = "an IP address or the name of a host, and a port, such as localhost:6379";
    let problem = "there is no port in it";
    let expected = format!("address is localhost: {problem}; allowed are {allowed}");
    assert_eq!(error("address = 'localhost'"), expected);
    let unknown = error("metrics = 'unknown-host.invalid:1'");
    assert!(unknown.starts_with("metrics is unknown-host.invalid:1: no address of host \"unknown-host.inv"));
    assert_eq!(error("timeout = [1]"), "timeout is [1]: allowed are 0 to 31536000");
    assert!(error("core = 1").starts_with("there is no parameter core; there are address, cores, "));
    assert!(error("cores 1").contains("line 1"), "{}", error("cores 1"));
}

#[test]
fn combinations_are_checked_before_the_store_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Some(folder.path().to_owned());
    let problem = |config: &Config| config.check_with_store().unwrap_err().to_string();
    let archive = Config { archive: directory.clone(), ..Config::default() };
    let old_values = Config { old_values: true, ..Config::default() };
    let interval = Config { checkpoint_interval: Duration::from_secs(1), ..Config::default() };
    for (name, config) in [("archive", archive), ("old-values", old_values), ("snapshot-every", interval)] {
        let error = problem(&config);
        assert!(error.starts_with(&format!("{name} needs dir: ")), "{error}");
        assert_eq!(Config { directory: directory.clone(), ..config }.check_with_store(), Ok(()), "{name}");
    }
    let memory = Config { memory_limit: Some((1 << 30) + 1), ..Config::default() };
    assert!(problem(&memory).starts_with("maxmemory is 1073741825: allowed are 1 to the bytes of memory"));
    assert_eq!(Config { memory_limit: Some(1 << 30), ..Config::default() }.check_with_store(), Ok(()));
    let database = Config { unordered: vec![16], ..Config::default() };
    assert!(problem(&database).starts_with("unordered has a number without a database"));
}

#[test]
fn every_address_parameter_accepts_a_host_name() {
    for name in ["address", "metrics", "ocsm", "batch"] {
        let (parameter, mut config) = (Parameter::named(name).unwrap(), Config::default());
        parameter.set(&mut config, "localhost:7000").unwrap();
        assert_eq!(parameter.value(&config), "127.0.0.1:7000", "{name}");
    }
}

#[test]
fn values_at_and_beyond_their_limits() {
    let accepts = |name, value| Parameter::named(name).unwrap().set(&mut Config::default(), value).is_ok();
    for (name, min, max, below, above) in [
        ("cores", "1", "1024", "0", "1025"),
        ("memory", "1MiB", "16TiB", "1048575", "17592186044417"),
        ("maxmemory", "0", "16TiB", "-1", "17TiB"),
        ("maxmemory", "1kb", "1gb", "1 q", "1tb"),
        ("maxmemory", "1k", "100M", "k", "1t"),
        ("maxmemory-policy", "allkeys-lru", "ALLKEYS-LRU", "", "lru"),
        ("databases", "1", "65000", "0", "65001"),
        ("ocsm-database", "0", "64999", "-1", "65000"),
        ("ocsm-database", "auto", "1", "", "last"),
        ("unordered-buckets", "1", "16777216", "0", "33554432"),
        ("unordered-buckets", "1024", "8388608", "1023", "16777217"),
        ("unordered-fill", "0", "100", "-1", "101"),
        ("unordered-inline", "0", "50", "-1", "51"),
        ("maxclients", "1", "1000000", "0", "1000001"),
        ("timeout", "0", "31536000", "-1", "31536001"),
        ("client-query-buffer-limit", "1KiB", "1TiB", "1023", "2TiB"),
        ("client-output-buffer-limit", "1024", "1024GiB", "0", "1099511627777"),
        ("slowlog-log-slower-than", "-1", "1000000000", "-2", "1000000001"),
        ("slowlog-max-len", "0", "1000000", "-1", "1000001"),
        ("shutdown-timeout", "0", "3600", "", "3601"),
    ] {
        assert!(accepts(name, min) && accepts(name, max), "{name}");
        assert!(!accepts(name, below) && !accepts(name, above), "{name}");
    }
}

#[test]
fn sizes_have_the_units_of_redis() {
    for (text, bytes) in
        [("3k", 3000), ("3kb", 3 << 10), ("2M", 2_000_000), ("2mb", 2 << 20), ("1g", 1_000_000_000)]
    {
        let mut config = Config::default();
        Parameter::named("maxmemory").unwrap().set(&mut config, text).unwrap();
        assert_eq!(config.memory_limit, Some(bytes), "{text}");
    }
}

#[test]
fn the_documentation_lists_all_parameters() {
    let page = include_str!("../../../docs/guide/configuration.md");
    let written = Config { cores: 2, ..Config::default() }.to_toml();
    let block = format!("```toml\n{written}```\n");
    assert!(page.contains(&block), "docs/guide/configuration.md must show:\n{written}");
}

/// Returns the error of `CONFIG SET` for a parameter.
fn failed(name: &str, problem: &str) -> String {
    format!("!ERR CONFIG SET failed (possibly related to argument '{name}') - {problem}")
}

#[test]
fn config_get_and_set() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    let all = client.reply_text("CONFIG GET *");
    PARAMETERS.iter().for_each(|parameter| assert!(all.contains(parameter.name), "{}", parameter.name));
    let mutable = PARAMETERS.iter().filter(|parameter| parameter.can_change);
    let mutable = mutable.map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
    dialogue(
        &mut client,
        &[
            ("CONFIG GET MAXC* maxmemory", "['maxmemory' '67108864' 'maxclients' '10000']"),
            ("CONFIG GET save appendonly *only", "['appendonly' 'no' 'save' '']"),
            ("CONFIG SET maxclients 0", &failed("maxclients", "maxclients is 0: allowed are 1 to 1000000")),
            ("CONFIG SET cores 1 appendonly no", "OK"),
            (
                "CONFIG SET cores 2",
                &failed("cores", &format!("can't set immutable config; mutable parameters: {mutable}")),
            ),
            (
                "CONFIG SET core 1",
                &format!(
                    "!ERR Unknown option or number of arguments for CONFIG SET - 'core'; mutable \
                     parameters: {mutable}"
                ),
            ),
            ("CONFIG SET timeout 1 Timeout 2", &failed("timeout", "duplicate parameter")),
            ("CONFIG SET timeout", "!ERR wrong number of arguments for 'config|set' command"),
            ("CONFIG REWRITE", "!ERR CONFIG REWRITE: this server never writes its configuration file"),
            (
                "CONFIG SET maxclients 5 timeout x",
                &failed("timeout", "timeout is x: allowed are 0 to 31536000"),
            ),
            ("CONFIG GET maxclients", "['maxclients' '10000']"),
            ("CONFIG SET maxclients 5 Timeout 7", "OK"),
            ("CONFIG GET maxclients timeout", "['maxclients' '5' 'timeout' '7']"),
            ("CONFIG SET requirepass secret", "OK"),
            ("GET a", "nil"),
        ],
    );
    let mut late = Client::connect(&running);
    assert_eq!(late.reply_text("GET a"), "!NOAUTH Authentication required.");
    // Without a password, clients that have connected before need none either.
    client.send(&[b"CONFIG", b"SET", b"requirepass", b""]);
    assert_eq!(show(&client.receive()), "OK");
    dialogue(&mut late, &[("GET a", "nil"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "[nil]")]);
}

#[test]
fn config_resetstat_resets_counters() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    (0..3).for_each(|_| drop(client.reply_to("GET a")));
    client.reply_to("INCRBY a x");
    let info = client.reply_text("INFO stats commandstats");
    assert!(info.contains("cmdstat_get:calls=3,"), "{info}");
    assert!(info.contains("cmdstat_incrby:calls=1,") && info.contains("failed_calls=1"), "{info}");
    assert!(info.contains("total_commands_processed:4\\r"), "{info}");
    assert_eq!(client.reply_text("CONFIG RESETSTAT"), "OK");
    let info = client.reply_text("INFO stats commandstats");
    // Only CONFIG RESETSTAT itself has been counted.
    assert!(info.contains("total_commands_processed:1\\r") && !info.contains("cmdstat_get"), "{info}");
}
