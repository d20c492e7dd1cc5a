//! The parameters of a server by their names: the one list that files, the environment, flags, `CONFIG` and
//! the documentation follow.

use std::fmt::Write;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES_MAX;

use crate::addresses::{ADDRESS, resolve};
use crate::config::{Accelerator, Config, Datagrams, LogFormat};
use crate::eviction_policy::POLICIES;

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in files and for `CONFIG`; the one that Redis has for it, if it has one.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What its values may be.
    pub allowed: &'static str,
    /// Whether `CONFIG SET` changes it while the server runs.
    pub can_change: bool,
    read: fn(&mut Config, &str) -> Result<(), Unfit>,
    show: fn(&Config) -> String,
}

/// Why a value was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The parameter has no such value.
    #[error("{name} is {value}: allowed are {allowed}")]
    Value {
        /// Its name.
        name: &'static str,
        /// What it was to be.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An address that names no host, or no port.
    #[error("{name} is {value}: {problem}; allowed are {allowed}")]
    Address {
        /// Its name.
        name: &'static str,
        /// What it was to be.
        value: String,
        /// What failed.
        problem: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A limit beyond the memory that it limits.
    #[error(
        "maxmemory is {limit}: allowed are 1 to the bytes of memory, which are {memory}, and 0 for all of \
         them"
    )]
    MemoryLimit {
        /// What maxmemory was to be.
        limit: usize,
        /// Bytes of the store's memory.
        memory: usize,
    },
    /// There is no such parameter.
    #[error("there is no parameter {0}; there are {names}", names = names())]
    Name(String),
    /// Datagrams carry no password, so they would be let in without it.
    #[error("requirepass and datagrams: allowed is one or the other, since datagrams carry no password")]
    Unprotected,
    /// A file that is no TOML.
    #[error("{0}")]
    Toml(String),
}

/// Why a text is no value of a parameter.
enum Unfit {
    Value,
    Address(String),
}

/// All of them.
pub static PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "address",
        about: "Where Redis clients find the server. Port 0 has the system choose one.",
        allowed: ADDRESS,
        can_change: false,
        read: |config, text| put_address(&mut config.address, text),
        show: |config| config.address.to_string(),
    },
    Parameter {
        name: "cores",
        about: "Threads, each with connections of its own. Unless it is given, one a core of the machine.",
        allowed: "1 to 1024",
        can_change: false,
        read: |config, text| put(&mut config.cores, number(text, 1..=1024)),
        show: |config| config.cores.to_string(),
    },
    Parameter {
        name: "cpu-affinity",
        about: "Whether each thread stays on a core of the machine, if there are as many threads as cores \
                that the process may use.",
        allowed: "yes, no",
        can_change: false,
        read: |config, text| put(&mut config.cpu_affinity, choice(text, &[("yes", true), ("no", false)])),
        show: |config| if config.cpu_affinity { "yes" } else { "no" }.to_owned(),
    },
    Parameter {
        name: "memory",
        about: "Memory of the store, which has all of it from the start.",
        allowed: "1MiB to 64TiB",
        can_change: false,
        read: |config, text| put(&mut config.memory_bytes, bytes(text, 1 << 20..=64 << 40)),
        show: |config| shown_bytes(config.memory_bytes),
    },
    Parameter {
        name: "maxmemory",
        about: "Bytes of memory that the store may use. A write beyond them does what maxmemory-policy says; \
                below what the store uses already, pairs go at once or all writes are refused.",
        allowed: "1B to memory; 0 for all of it",
        can_change: true,
        read: |config, text| {
            let limit = bytes(text, 0..=64 << 40).map(|bytes| Some(bytes).filter(|bytes| *bytes > 0));
            put(&mut config.memory_limit, limit)
        },
        show: |config| config.memory_limit.unwrap_or(0).to_string(),
    },
    Parameter {
        name: "maxmemory-policy",
        about: "Which pairs go once there is no memory: none, and writes are refused; or, of all pairs or of \
                those that expire, the one that was not used for longest or is used least often of a few \
                samples, or any; or the one that expires first.",
        allowed: "noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, \
                  volatile-random, volatile-ttl",
        can_change: true,
        read: |config, text| put(&mut config.eviction.policy, choice(text, POLICIES)),
        show: |config| name(config.eviction.policy, POLICIES),
    },
    Parameter {
        name: "maxmemory-samples",
        about: "Pairs of which maxmemory-policy chooses one.",
        allowed: "1 to 64",
        can_change: true,
        read: |config, text| put(&mut config.eviction.samples, number(text, 1..=64)),
        show: |config| config.eviction.samples.to_string(),
    },
    Parameter {
        name: "databases",
        about: "Numbered tables that SELECT chooses from.",
        allowed: "1 to 65000",
        can_change: false,
        read: |config, text| put(&mut config.databases, number(text, 1..=65_000)),
        show: |config| config.databases.to_string(),
    },
    Parameter {
        name: "requirepass",
        about: "What AUTH must say before anything else; nothing lets everybody in.",
        allowed: "any text",
        can_change: true,
        read: |config, text| put(&mut config.password, Some((!text.is_empty()).then(|| text.to_owned()))),
        show: |config| config.password.clone().unwrap_or_default(),
    },
    Parameter {
        name: "maxclients",
        about: "Connections at one time. Further ones are told so and closed.",
        allowed: "1 to 1000000",
        can_change: true,
        read: |config, text| put(&mut config.connections_max, number(text, 1..=1_000_000)),
        show: |config| config.connections_max.to_string(),
    },
    Parameter {
        name: "timeout",
        about: "Seconds that a client may be silent before its connection is closed; 0 for ever.",
        allowed: "0 to 31536000",
        can_change: true,
        read: |config, text| put(&mut config.silence_max, seconds(text, 0..=31_536_000)),
        show: |config| config.silence_max.as_secs().to_string(),
    },
    Parameter {
        name: "client-query-buffer-limit",
        about: "Bytes of one request. A client that sends a longer one gets an error, and its connection is \
                closed. Commands since MULTI, and pairs that are watched, may take as much memory.",
        allowed: "1KiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.request.request_bytes_max, bytes(text, 1 << 10..=1 << 40)),
        show: |config| shown_bytes(config.request.request_bytes_max),
    },
    Parameter {
        name: "client-output-buffer-limit",
        about: "Bytes of replies for one client. In place of the reply that goes beyond it the client gets \
                an error, and its connection is closed.",
        allowed: "1KiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.reply_bytes_max, bytes(text, 1 << 10..=1 << 40)),
        show: |config| shown_bytes(config.reply_bytes_max),
    },
    Parameter {
        name: "client-output-pause",
        about: "Bytes of replies that a client may leave unread before its further commands wait.",
        allowed: "1B to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.unsent_bytes_max, bytes(text, 1..=1 << 40)),
        show: |config| shown_bytes(config.unsent_bytes_max),
    },
    Parameter {
        name: "maxmemory-clients",
        about: "Bytes of memory that all clients may take together, for requests, replies, queued commands \
                and watched pairs. Beyond them the server disconnects the client that takes the most.",
        allowed: "1MiB to 1TiB",
        can_change: true,
        read: |config, text| put(&mut config.clients_bytes_max, bytes(text, 1 << 20..=1 << 40)),
        show: |config| shown_bytes(config.clients_bytes_max),
    },
    Parameter {
        name: "client-snapshots",
        about: "Snapshots that a client may hold by RI.SNAPSHOT TAKE.",
        allowed: "1 to 32",
        can_change: true,
        read: |config, text| put(&mut config.client_snapshots_max, number(text, 1..=32)),
        show: |config| config.client_snapshots_max.to_string(),
    },
    Parameter {
        name: "latency-monitor-threshold",
        about: "Milliseconds from which on a command is an event for LATENCY; 0 notes nothing.",
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
        about: "Microseconds from which on a command is noted in the slow log; -1 notes nothing.",
        allowed: "-1 to 1000000000",
        can_change: true,
        read: |config, text| put(&mut config.slow, microseconds(text)),
        show: |config| config.slow.map_or("-1".to_owned(), |slow| slow.as_micros().to_string()),
    },
    Parameter {
        name: "slowlog-max-len",
        about: "Entries that the slow log keeps.",
        allowed: "0 to 1000000",
        can_change: true,
        read: |config, text| put(&mut config.slow_log_entries_max, number(text, 0..=1_000_000)),
        show: |config| config.slow_log_entries_max.to_string(),
    },
    Parameter {
        name: "ocsm",
        about: "Where Open Compute Storage Messages arrive, over UDP; nowhere if it is empty. They carry no \
                password.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.datagrams.ocsm, text),
        show: |config| shown_address(config.datagrams.ocsm),
    },
    Parameter {
        name: "batch",
        about: "Where batch datagrams arrive, over UDP; nowhere if it is empty. They carry no password.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.datagrams.batch, text),
        show: |config| shown_address(config.datagrams.batch),
    },
    Parameter {
        name: "payload-bytes",
        about: "Bytes of the longest payload of a datagram; 1472 fit an Ethernet frame of 1514 bytes.",
        allowed: "128 to 65507",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.payload_bytes, number(text, 128..=PAYLOAD_BYTES_MAX)),
        show: |config| config.datagrams.payload_bytes.to_string(),
    },
    Parameter {
        name: "reply-datagrams",
        about: "Datagrams of a reply to a batch, at most.",
        allowed: "1 to 255",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.reply_datagrams_max, number(text, 1..=255)),
        show: |config| config.datagrams.reply_datagrams_max.to_string(),
    },
    Parameter {
        name: "sessions",
        about: "Sessions of batch datagrams that a core keeps; a further one ends the one that was not used \
                for longest.",
        allowed: "1 to 1000000",
        can_change: false,
        read: |config, text| put(&mut config.datagrams.sessions_max, number(text, 1..=1_000_000)),
        show: |config| config.datagrams.sessions_max.to_string(),
    },
    Parameter {
        name: "metrics",
        about: "Where metrics are to be had by HTTP, as Prometheus reads them; nowhere if it is empty.",
        allowed: OPTIONAL_ADDRESS,
        can_change: false,
        read: |config, text| put_optional(&mut config.metrics, text),
        show: |config| shown_address(config.metrics),
    },
    Parameter {
        name: "accelerator",
        about: "What runs the reads: software, or the accelerator of rtl/, simulated cycle by cycle.",
        allowed: "software, and rtl if the program was built with --features rtl",
        can_change: false,
        read: |config, text| put(&mut config.accelerator, choice(text, ACCELERATORS)),
        show: |config| name(config.accelerator, ACCELERATORS),
    },
    Parameter {
        name: "accelerator-counters",
        about: "Whether the accelerator counts the nodes, bytes and cache lines that it touches, for the \
                metrics and the slow log. It costs a little.",
        allowed: "yes, no",
        can_change: false,
        read: |config, text| put(&mut config.count_touched, choice(text, &[("yes", true), ("no", false)])),
        show: |config| if config.count_touched { "yes" } else { "no" }.to_owned(),
    },
    Parameter {
        name: "log-format",
        about: "How what happens is written to standard error: lines for people, or a JSON object a line.",
        allowed: "text, json",
        can_change: false,
        read: |config, text| {
            put(&mut config.log_format, choice(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)]))
        },
        show: |config| if config.log_format == LogFormat::Json { "json" } else { "text" }.to_owned(),
    },
    Parameter {
        name: "log-level",
        about: "How much of what happens is written. Commands never are.",
        allowed: "error, warn, info, debug, trace",
        can_change: false,
        read: |config, text| put(&mut config.log_level, text.parse().ok()),
        show: |config| config.log_level.as_str().to_ascii_lowercase(),
    },
    Parameter {
        name: "shutdown-timeout",
        about: "Seconds that a server which was told to stop takes to carry out what it has received, and to \
                send the replies.",
        allowed: "0 to 3600",
        can_change: true,
        read: |config, text| put(&mut config.grace, seconds(text, 0..=3600)),
        show: |config| config.grace.as_secs().to_string(),
    },
];

const ACCELERATORS: &[(&str, Accelerator)] = &[
    ("software", Accelerator::Software),
    #[cfg(feature = "rtl")]
    ("rtl", Accelerator::Rtl),
];
const OPTIONAL_ADDRESS: &str =
    "an IP address or the name of a host, and a port, such as localhost:6380, or nothing";

impl Parameter {
    /// The parameter of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name))
    }

    /// The variable of the environment that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("HONEYCOMB_{}", self.name.replace('-', "_").to_ascii_uppercase())
    }

    /// Its value.
    #[must_use]
    pub fn value(&self, config: &Config) -> String {
        (self.show)(config)
    }

    /// Gives it a value.
    ///
    /// # Errors
    /// [`Refused::Value`], and nothing has changed.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), Refused> {
        let Self { name, allowed, .. } = *self;
        (self.read)(config, value).map_err(|unfit| match (unfit, value.to_owned()) {
            (Unfit::Value, value) => Refused::Value { name, value, allowed },
            (Unfit::Address(problem), value) => Refused::Address { name, value, problem, allowed },
        })
    }
}

impl Config {
    /// Takes the parameters of a file: TOML, a line `name = value` each.
    ///
    /// # Errors
    /// [`Refused`] names the first that is not allowed.
    pub fn read_toml(&mut self, text: &str) -> Result<(), Refused> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            Refused::Toml(error.to_string().trim_end().replace('\n', "\n  "))
        })?;
        for (name, value) in table {
            let parameter = Parameter::named(&name).ok_or(Refused::Name(name))?;
            let value = match value {
                toml::Value::String(text) => text,
                other => other.to_string(),
            };
            parameter.set(self, &value)?;
        }
        Ok(())
    }

    /// All parameters with what they are and may be: a file that [`Config::read_toml`] reads.
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

    /// Refuses what no file could say, and what does not go together.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let Datagrams { ocsm, batch, .. } = self.datagrams;
        if self.password.is_some() && (ocsm.is_some() || batch.is_some()) {
            return Err(Refused::Unprotected);
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
    values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// The name of a value that has one.
pub(crate) fn name<T: PartialEq>(value: T, values: &[(&str, T)]) -> String {
    values.iter().find(|(_, one)| *one == value).map_or(String::new(), |(name, _)| (*name).to_owned())
}

const UNITS: [(&str, usize); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
/// How Redis writes some of them.
const UNITS_OF_REDIS: [(&str, usize); 3] = [("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30)];

/// A size such as `512MiB`, or a number of bytes.
fn bytes(text: &str, allowed: RangeInclusive<usize>) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() { "B" } else { unit.trim_start() };
    let mut units = UNITS.iter().chain(&UNITS_OF_REDIS);
    let (_, size) = units.find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.parse::<usize>().ok()?.checked_mul(*size).filter(|bytes| allowed.contains(bytes))
}

/// A size in the largest unit of which it is a multiple.
fn shown_bytes(bytes: usize) -> String {
    let fits = |(_, size): &&(&str, usize)| bytes >= *size && bytes.is_multiple_of(*size);
    let (name, size) = UNITS.iter().rev().find(fits).unwrap_or(&UNITS[0]);
    format!("{}{name}", bytes / size)
}
