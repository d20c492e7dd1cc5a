//! The parameters of a server: the single list that files, environment variables, flags, `CONFIG` and the
//! documentation use.

use std::fmt::Write;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES_MAX;
use honeycomb_store::SyncPolicy;

use crate::addresses::{ADDRESS, resolve};
use crate::arguments::shown;
use crate::config::{Config, Datagrams, LogFormat};
use crate::eviction_policy::POLICIES;
use crate::notifications::events::Notify;

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// The name in files and for `CONFIG`. It is that of Redis if Redis has the parameter.
    pub name: &'static str,
    /// The description.
    pub about: &'static str,
    /// The allowed values.
    pub allowed: &'static str,
    /// Whether `CONFIG SET` can change it in a running server.
    pub can_change: bool,
    read: fn(&mut Config, &str) -> Result<(), Unfit>,
    show: fn(&Config) -> String,
}

/// The reason why a parameter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidParameter {
    /// A value that is not allowed.
    #[error("{name} is {value}: allowed are {allowed}")]
    Value {
        /// The name of the parameter.
        name: &'static str,
        /// The beginning of the rejected value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// An address without a known host, or without a port.
    #[error("{name} is {value}: {problem}; allowed are {allowed}")]
    Address {
        /// The name of the parameter.
        name: &'static str,
        /// The beginning of the rejected value.
        value: String,
        /// The problem.
        problem: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A memory limit above the memory of the store.
    #[error(
        "maxmemory is {limit}: allowed are 1 to the bytes of memory, which are {memory}, and 0 for all of \
         them"
    )]
    MemoryLimit {
        /// The value of maxmemory.
        limit: usize,
        /// Bytes of memory of the store.
        memory: usize,
    },
    /// An unknown parameter.
    #[error("there is no parameter {0}; there are {names}", names = names())]
    Name(String),
    /// A password together with datagrams, which carry no password and would bypass it.
    #[error("requirepass and datagrams: only one of them is allowed, because datagrams carry no password")]
    Unprotected,
    /// The number of a database that does not exist.
    #[error("{name} has a number without a database: allowed are 0 to {}", databases - 1)]
    NoDatabase {
        /// The name of the parameter.
        name: &'static str,
        /// The number of databases.
        databases: usize,
    },
    /// A parameter of durability without a directory.
    #[error(
        "{name} needs dir: without one the store is in memory only, and has neither a log nor checkpoints"
    )]
    NoDirectory {
        /// The name of the parameter.
        name: &'static str,
    },
    /// A file that is not valid TOML.
    #[error("{0}")]
    Toml(String),
}

/// The reason why a text is not a value of a parameter.
enum Unfit {
    Value,
    Address(String),
}

/// All parameters.
pub static PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "address",
        about: "The address at which Redis clients connect. With port 0 the system chooses a free port.",
        allowed: ADDRESS,
        can_change: false,
        read: |config, text| put_address(&mut config.address, text),
        show: |config| config.address.to_string(),
    },
    Parameter {
        name: "cores",
        about: "Threads, each with its own connections. Default: one per CPU.",
        allowed: "1 to 1024",
        can_change: false,
        read: |config, text| put(&mut config.cores, number(text, 1..=1024)),
        show: |config| config.cores.to_string(),
    },
    Parameter {
        name: "cpu-affinity",
        about: "Pins each thread to a CPU, if there are as many threads as CPUs that the process may use.",
        allowed: "yes, no",
        can_change: false,
        read: |config, text| put(&mut config.cpu_affinity, choice(text, &[("yes", true), ("no", false)])),
        show: |config| if config.cpu_affinity { "yes" } else { "no" }.to_owned(),
    },
    Parameter {
        name: "memory",
        about: "Memory of the store, which is reserved at the start.",
        allowed: "1MiB to 16TiB",
        can_change: false,
        read: |config, text| put(&mut config.memory_bytes, bytes(text, 1 << 20..=16 << 40)),
        show: |config| shown_bytes(config.memory_bytes),
    },
    Parameter {
        name: "dir",
        about: "The directory of the log and of checkpoints, which make the store durable. Without one, the \
                store is in memory only, and a stop loses all data.",
        allowed: "a path, or nothing",
        can_change: false,
        read: |config, text| put(&mut config.directory, Some((!text.is_empty()).then(|| text.into()))),
        show: |config| {
            config.directory.as_ref().map_or(String::new(), |path| path.to_string_lossy().into_owned())
        },
    },
    Parameter {
        name: "archive",
        about: "The directory to which a durable server copies its full log files, so that `honeycomb \
                restore` can restore a backup to a later point in time. Without one, they are removed. It \
                needs dir.",
        allowed: "a path, or nothing",
        can_change: false,
        read: |config, text| put(&mut config.archive, Some((!text.is_empty()).then(|| text.into()))),
        show: |config| {
            config.archive.as_ref().map_or(String::new(), |path| path.to_string_lossy().into_owned())
        },
    },
    Parameter {
        name: "old-values",
        about: "Whether the log of a durable server has the value before each change, for RI.CHANGES and \
                RI.WATCH. It is longer then. At the start, yes needs dir.",
        allowed: "yes, no",
        can_change: true,
        read: |config, text| put(&mut config.old_values, choice(text, &[("yes", true), ("no", false)])),
        show: |config| if config.old_values { "yes" } else { "no" }.to_owned(),
    },
    Parameter {
        name: "durability",
        about: "When a write is durable: always (before any reply that depends on it), everysec (after a \
                second at most), or no (when the system writes it). Redis calls it appendfsync.",
        allowed: "always, everysec, no",
        can_change: true,
        read: |config, text| put(&mut config.durability, choice(text, SYNC_POLICIES)),
        show: |config| name(config.durability, SYNC_POLICIES),
    },
    Parameter {
        name: "snapshot-every",
        about: "Seconds after which the server writes a checkpoint, if pairs have changed; 0: only when the \
                log has grown by 1 GiB. At the start, other values than 0 need dir.",
        allowed: "0 to 31536000",
        can_change: true,
        read: |config, text| put(&mut config.checkpoint_interval, seconds(text, 0..=31_536_000)),
        show: |config| config.checkpoint_interval.as_secs().to_string(),
    },
    Parameter {
        name: "maxmemory",
        about: "Bytes of memory that the store may use. Beyond them maxmemory-policy applies to writes; if \
                a new limit is below the memory in use, the server evicts pairs at once or rejects all \
                writes.",
        allowed: "1B to memory; 0 for all of it",
        can_change: true,
        read: |config, text| {
            let limit = bytes(text, 0..=16 << 40).map(|bytes| Some(bytes).filter(|bytes| *bytes > 0));
            put(&mut config.memory_limit, limit)
        },
        show: |config| config.memory_limit.unwrap_or(0).to_string(),
    },
    Parameter {
        name: "maxmemory-policy",
        about: "The pairs that the server evicts when memory is exhausted: none (it rejects writes); among \
                all pairs or those with a deadline, the least recently or least frequently used of some \
                samples, or a random one; or the one with the earliest deadline.",
        allowed: "noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, \
                  volatile-random, volatile-ttl",
        can_change: true,
        read: |config, text| put(&mut config.eviction.policy, choice(text, POLICIES)),
        show: |config| name(config.eviction.policy, POLICIES),
    },
    Parameter {
        name: "maxmemory-samples",
        about: "Random pairs among which maxmemory-policy chooses one.",
        allowed: "1 to 64",
        can_change: true,
        read: |config, text| put(&mut config.eviction.samples, number(text, 1..=64)),
        show: |config| config.eviction.samples.to_string(),
    },
    Parameter {
        name: "databases",
        about: "Numbered tables for SELECT.",
        allowed: "1 to 65000",
        can_change: false,
        read: |config, text| put(&mut config.databases, number(text, 1..=65_000)),
        show: |config| config.databases.to_string(),
    },
    Parameter {
        name: "unordered",
        about: "The numbers of databases that are unordered tables: faster, without commands on \
                ranges of keys. A database that exists keeps its kind.",
        allowed: "numbers below databases, separated by commas, or nothing",
        can_change: false,
        read: |config, text| put(&mut config.unordered, numbers(text)),
        show: |config| {
            let numbers: Vec<_> = config.unordered.iter().map(usize::to_string).collect();
            numbers.join(",")
        },
    },
    Parameter {
        name: "unordered-buckets",
        about: "Buckets of a new unordered database, which grows by itself. A bucket has ten slots; a pair \
                takes one for every five bytes, or one if it is in a slab. A database that exists keeps its \
                buckets.",
        allowed: "a power of two from 1 to 16777216",
        can_change: false,
        read: |config, text| {
            let buckets = number(text, 1..=1 << 24).filter(|buckets: &usize| buckets.is_power_of_two());
            put(&mut config.unordered_tables.buckets, buckets)
        },
        show: |config| config.unordered_tables.buckets.to_string(),
    },
    Parameter {
        name: "unordered-fill",
        about: "Percentage of the slots in use at which a new unordered database adds buckets: more need \
                less memory and more time. It sets the ratio of buckets to slabs. With 0 the number of \
                buckets never changes. A database that exists keeps its percentage.",
        allowed: "0 to 100",
        can_change: false,
        read: |config, text| {
            let percent = number(text, 0..=100).map(|percent| Some(percent).filter(|it| *it > 0));
            put(&mut config.unordered_tables.fill_percent, percent)
        },
        show: |config| config.unordered_tables.fill_percent.unwrap_or(0).to_string(),
    },
    Parameter {
        name: "unordered-inline",
        about: "Maximum bytes of key and value together of a pair inside its bucket, in a new unordered \
                database; longer pairs are in slabs. A database that exists keeps its maximum.",
        allowed: "0 to 50",
        can_change: false,
        read: |config, text| put(&mut config.unordered_tables.inline_pair_bytes_max, number(text, 0..=50)),
        show: |config| config.unordered_tables.inline_pair_bytes_max.to_string(),
    },
    Parameter {
        name: "requirepass",
        about: "The password that AUTH requires. Without one, all clients have access.",
        allowed: "any text",
        can_change: true,
        read: |config, text| put(&mut config.password, Some((!text.is_empty()).then(|| text.to_owned()))),
        show: |config| config.password.clone().unwrap_or_default(),
    },
    Parameter {
        name: "maxclients",
        about: "Maximum number of connections. The server replies an error to further ones and closes them.",
        allowed: "1 to 1000000",
        can_change: true,
        read: |config, text| put(&mut config.connections_max, number(text, 1..=1_000_000)),
        show: |config| config.connections_max.to_string(),
    },
    Parameter {
        name: "timeout",
        about: "Seconds after which the server closes the connection of a client that is idle and waits for \
                neither a command nor messages; 0 disables this.",
        allowed: "0 to 31536000",
        can_change: true,
        read: |config, text| put(&mut config.idle_timeout, seconds(text, 0..=31_536_000)),
        show: |config| config.idle_timeout.as_secs().to_string(),
    },
    Parameter {
        name: "client-query-buffer-limit",
        about: "Bytes of one request. The server replies an error to a longer one and closes the \
                connection. The limit also applies to the memory of commands since MULTI, and to that of \
                watched pairs.",
        allowed: "1KiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.request.request_bytes_max, bytes(text, 1 << 10..=1 << 40)),
        show: |config| shown_bytes(config.request.request_bytes_max),
    },
    Parameter {
        name: "client-output-buffer-limit",
        about: "Bytes of replies for one client. An error replaces the reply that exceeds the limit, and \
                the server closes the connection.",
        allowed: "1KiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.reply_bytes_max, bytes(text, 1 << 10..=1 << 40)),
        show: |config| shown_bytes(config.reply_bytes_max),
    },
    Parameter {
        name: "client-output-pause",
        about: "Bytes of unread replies of a client at which its further commands wait.",
        allowed: "1B to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.unsent_bytes_max, bytes(text, 1..=1 << 40)),
        show: |config| shown_bytes(config.unsent_bytes_max),
    },
    Parameter {
        name: "maxmemory-clients",
        about: "Bytes of memory that all clients may use together, for requests, replies, queued commands \
                and watched pairs. Beyond them the server disconnects the client that uses the most.",
        allowed: "1MiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.clients_bytes_max, bytes(text, 1 << 20..=1 << 40)),
        show: |config| shown_bytes(config.clients_bytes_max),
    },
    Parameter {
        name: "client-snapshots",
        about: "Maximum number of snapshots of a client (RI.SNAPSHOT TAKE).",
        allowed: "1 to 32",
        can_change: true,
        read: |config, text| put(&mut config.client_snapshots_max, number(text, 1..=32)),
        show: |config| config.client_snapshots_max.to_string(),
    },
    Parameter {
        name: "latency-monitor-threshold",
        about: "Milliseconds from which a command is an event for LATENCY; 0 disables these events.",
        allowed: "0 to 1000000",
        can_change: true,
        read: |config, text| {
            let threshold = number(text, 0..=1_000_000_u64).map(Duration::from_millis);
            let threshold = threshold.map(|time| Some(time).filter(|time| !time.is_zero()));
            put(&mut config.latency_threshold, threshold)
        },
        show: |config| config.latency_threshold.map_or("0".to_owned(), |time| time.as_millis().to_string()),
    },
    Parameter {
        name: "slowlog-log-slower-than",
        about: "Microseconds from which the slow log records a command; -1 disables the log.",
        allowed: "-1 to 1000000000",
        can_change: true,
        read: |config, text| put(&mut config.slow_log_threshold, microseconds(text)),
        show: |config| config.slow_log_threshold.map_or("-1".to_owned(), |slow| slow.as_micros().to_string()),
    },
    Parameter {
        name: "slowlog-max-len",
        about: "Maximum number of entries of the slow log.",
        allowed: "0 to 1000000",
        can_change: true,
        read: |config, text| put(&mut config.slow_log_entries_max, number(text, 0..=1_000_000)),
        show: |config| config.slow_log_entries_max.to_string(),
    },
    Parameter {
        name: "notify-keyspace-events",
        about: "The events of keys that clients can subscribe to: the channels K (__keyspace@0__:key) and E \
                (__keyevent@0__:event), and the classes g (generic commands), $ (strings), x (expired), e \
                (evicted), or A for all. The classes l, s, h, z, t and d of Redis have no events here.",
        allowed: "letters among K, E, A, g, $, x, e, l, s, h, z, t and d, or nothing",
        can_change: true,
        read: |config, text| put(&mut config.notify, Notify::parse(text)),
        show: |config| config.notify.show(),
    },
    Parameter {
        name: "ocsm",
        about: "The UDP address for Open Compute Storage Messages; disabled if empty. These carry no \
                password.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.datagrams.ocsm, text),
        show: |config| shown_address(config.datagrams.ocsm),
    },
    Parameter {
        name: "ocsm-database",
        about: "The database that is table 0 of storage messages; tables 1, 2 and so on are the databases \
                after it. auto is the last database as an unordered table, unless it has pairs as an ordered \
                one.",
        allowed: "a number below databases, or auto",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.ocsm_database, database_or_auto(text)),
        show: |config| config.datagrams.ocsm_database.map_or(AUTO.to_owned(), |number| number.to_string()),
    },
    Parameter {
        name: "batch",
        about: "The UDP address for batch datagrams; disabled if empty. These carry no password.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.datagrams.batch, text),
        show: |config| shown_address(config.datagrams.batch),
    },
    Parameter {
        name: "payload-bytes",
        about: "Maximum bytes of the payload of a datagram; 1472 fit an Ethernet frame of 1514 bytes.",
        allowed: "128 to 65507",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.payload_bytes, number(text, 128..=PAYLOAD_BYTES_MAX)),
        show: |config| config.datagrams.payload_bytes.to_string(),
    },
    Parameter {
        name: "reply-datagrams",
        about: "Maximum number of datagrams in the reply to a batch.",
        allowed: "1 to 255",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.reply_datagrams_max, number(text, 1..=255)),
        show: |config| config.datagrams.reply_datagrams_max.to_string(),
    },
    Parameter {
        name: "sessions",
        about: "Maximum number of sessions of batch clients per core. A new session ends the least recently \
                used one.",
        allowed: "1 to 1000000",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.sessions_max, number(text, 1..=1_000_000)),
        show: |config| config.datagrams.sessions_max.to_string(),
    },
    Parameter {
        name: "metrics",
        about: "The HTTP address for metrics in Prometheus format; disabled if empty.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.metrics, text),
        show: |config| shown_address(config.metrics),
    },
    Parameter {
        name: "accelerator",
        about: "The accelerator that executes reads.",
        allowed: "software, and further accelerators that the program was built with",
        can_change: false,
        read: |config, text| {
            let named = config.accelerators.iter().find(|accelerator| accelerator.name == text);
            put(&mut config.accelerator, named.copied())
        },
        show: |config| config.accelerator.name.to_owned(),
    },
    Parameter {
        name: "accelerator-counters",
        about: "Counts the nodes, bytes and cache lines that the accelerator touches, for the metrics and \
                the slow log, at a small cost.",
        allowed: "yes, no",
        can_change: false,
        read: |config, text| put(&mut config.count_accesses, choice(text, &[("yes", true), ("no", false)])),
        show: |config| if config.count_accesses { "yes" } else { "no" }.to_owned(),
    },
    Parameter {
        name: "log-format",
        about: "The format of the log on standard error: text lines, or one JSON object per line.",
        allowed: "text, json",
        can_change: false,
        read: |config, text| {
            put(&mut config.log_format, choice(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)]))
        },
        show: |config| if config.log_format == LogFormat::Json { "json" } else { "text" }.to_owned(),
    },
    Parameter {
        name: "log-level",
        about: "The least severe level that is logged. The server never logs commands.",
        allowed: "error, warn, info, debug, trace",
        can_change: false,
        read: |config, text| put(&mut config.log_level, text.parse().ok()),
        show: |config| config.log_level.as_str().to_ascii_lowercase(),
    },
    Parameter {
        name: "shutdown-timeout",
        about: "Maximum number of seconds in which a stopping server executes the received requests and \
                sends their replies.",
        allowed: "0 to 3600",
        can_change: true,
        read: |config, text| put(&mut config.shutdown_timeout, seconds(text, 0..=3600)),
        show: |config| config.shutdown_timeout.as_secs().to_string(),
    },
];

const SYNC_POLICIES: &[(&str, SyncPolicy)] =
    &[("always", SyncPolicy::Always), ("everysec", SyncPolicy::EverySecond), ("no", SyncPolicy::Never)];

const OPTIONAL_ADDRESS: &str =
    "an IP address or the name of a host, and a port, such as localhost:6380, or nothing";

impl Parameter {
    /// Returns the parameter of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// Returns the environment variable that sets the parameter.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("HONEYCOMB_{}", self.name.replace('-', "_").to_ascii_uppercase())
    }

    /// Returns its value.
    #[must_use]
    pub fn value(&self, config: &Config) -> String {
        (self.show)(config)
    }

    /// Sets its value.
    ///
    /// # Errors
    /// [`InvalidParameter::Value`] or [`InvalidParameter::Address`]. The configuration does not change.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), InvalidParameter> {
        let Self { name, allowed, .. } = *self;
        (self.read)(config, value).map_err(|unfit| match (unfit, shown(value.as_bytes())) {
            (Unfit::Value, value) => InvalidParameter::Value { name, value, allowed },
            (Unfit::Address(problem), value) => InvalidParameter::Address { name, value, problem, allowed },
        })
    }
}

impl Config {
    /// Sets the parameters of a TOML file, which has one line `name = value` for each.
    ///
    /// # Errors
    /// [`InvalidParameter`] for the first invalid parameter.
    pub fn read_toml(&mut self, text: &str) -> Result<(), InvalidParameter> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            InvalidParameter::Toml(error.to_string().trim_end().replace('\n', "\n  "))
        })?;
        for (name, value) in table {
            let parameter = Parameter::named(&name).ok_or(InvalidParameter::Name(name))?;
            let value = match value {
                toml::Value::String(text) => text,
                other => other.to_string(),
            };
            parameter.set(self, &value)?;
        }
        Ok(())
    }

    /// Returns all parameters with descriptions and allowed values, as a file for [`Config::read_toml`].
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for parameter in PARAMETERS {
            let Parameter { name, about, allowed, can_change, .. } = parameter;
            let change = if *can_change { " CONFIG SET changes it." } else { "" };
            let variable = parameter.variable();
            let _ = writeln!(text, "# {about}\n# Allowed: {allowed}. --{name}, {variable}.{change}");
            let value = parameter.value(self);
            let value = match value.parse::<i64>() {
                Ok(number) if number.to_string() == value => toml::Value::Integer(number),
                _ => toml::Value::String(value),
            };
            let _ = writeln!(text, "{name} = {value}\n");
        }
        text.pop();
        text
    }

    /// Rejects invalid values and combinations of the parameters of a server whose store
    /// [`Config::open_store`] opens, before that creates a directory.
    ///
    /// # Errors
    /// [`InvalidParameter`] for the first invalid parameter.
    pub fn check_with_store(&self) -> Result<(), InvalidParameter> {
        let needs_directory = [
            ("archive", self.archive.is_some()),
            ("old-values", self.old_values),
            ("snapshot-every", self.interval().is_some()),
        ];
        let set = needs_directory.into_iter().find(|(_, is_set)| *is_set && self.directory.is_none());
        if let Some((name, _)) = set {
            return Err(InvalidParameter::NoDirectory { name });
        }
        self.clone().settle_memory_limit()?;
        self.check()
    }

    /// Rejects values that no file could contain, and invalid combinations that do not depend on the store.
    pub(crate) fn check(&self) -> Result<(), InvalidParameter> {
        let Datagrams { ocsm, batch, ocsm_database, .. } = self.datagrams;
        if self.password.is_some() && (ocsm.is_some() || batch.is_some()) {
            return Err(InvalidParameter::Unprotected);
        }
        let lists = [("unordered", &self.unordered[..]), ("ocsm-database", ocsm_database.as_slice())];
        for (name, numbers) in lists {
            if numbers.iter().any(|number| *number >= self.databases) {
                return Err(InvalidParameter::NoDatabase { name, databases: self.databases });
            }
        }
        PARAMETERS.iter().try_for_each(|parameter| parameter.set(&mut self.clone(), &parameter.value(self)))
    }
}

fn names() -> String {
    PARAMETERS.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ")
}

fn put<T>(place: &mut T, value: Option<T>) -> Result<(), Unfit> {
    *place = value.ok_or(Unfit::Value)?;
    Ok(())
}

fn put_address(place: &mut SocketAddr, text: &str) -> Result<(), Unfit> {
    *place = resolve(text).map_err(Unfit::Address)?;
    Ok(())
}

fn put_optional(place: &mut Option<SocketAddr>, text: &str) -> Result<(), Unfit> {
    let address = if text.is_empty() { None } else { Some(resolve(text).map_err(Unfit::Address)?) };
    *place = address;
    Ok(())
}

fn number<N: FromStr + PartialOrd>(text: &str, allowed: RangeInclusive<N>) -> Option<N> {
    text.parse().ok().filter(|number| allowed.contains(number))
}

/// Parses the numbers of databases.
fn numbers(text: &str) -> Option<Vec<usize>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|part| database(part.trim())).collect()
}

fn database(text: &str) -> Option<usize> {
    number(text, 0..=64_999)
}

/// The value of a parameter for which the server chooses.
const AUTO: &str = "auto";

fn database_or_auto(text: &str) -> Option<Option<usize>> {
    if text == AUTO { Some(None) } else { database(text).map(Some) }
}

fn seconds(text: &str, allowed: RangeInclusive<u64>) -> Option<Duration> {
    number(text, allowed).map(Duration::from_secs)
}

fn microseconds(text: &str) -> Option<Option<Duration>> {
    let number = number(text, -1..=1_000_000_000_i64)?;
    Some(u64::try_from(number).ok().map(Duration::from_micros))
}

fn shown_address(address: Option<SocketAddr>) -> String {
    address.map_or(String::new(), |address| address.to_string())
}

fn choice<T: Copy>(text: &str, values: &[(&str, T)]) -> Option<T> {
    values.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
}

/// Returns the name of a value.
pub(crate) fn name<T: PartialEq>(value: T, values: &[(&str, T)]) -> String {
    values.iter().find(|(_, one)| *one == value).map_or(String::new(), |(name, _)| (*name).to_owned())
}

const UNITS: [(&str, usize); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
/// Units as Redis writes them.
const UNITS_OF_REDIS: [(&str, usize); 6] =
    [("k", 1000), ("kb", 1 << 10), ("m", 1_000_000), ("mb", 1 << 20), ("g", 1_000_000_000), ("gb", 1 << 30)];

/// Parses a size such as `512MiB`, or a number of bytes.
fn bytes(text: &str, allowed: RangeInclusive<usize>) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "B" } else { unit.trim_start() };
    let mut units = UNITS.iter().chain(&UNITS_OF_REDIS);
    let (_, size) = units.find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.parse::<usize>().ok()?.checked_mul(*size).filter(|bytes| allowed.contains(bytes))
}

/// Formats a size in the largest unit that divides it.
fn shown_bytes(bytes: usize) -> String {
    let fits = |(_, size): &&(&str, usize)| bytes >= *size && bytes.is_multiple_of(*size);
    let (name, size) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
    format!("{}{name}", bytes / size)
}
