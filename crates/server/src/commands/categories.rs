//! The categories of commands that `ACL CAT` and `COMMAND` show.

use crate::command::{Command, CommandForm, Keys};

/// All categories that a command of this server is in.
pub(super) const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "string",
    "bitmap",
    "admin",
    "fast",
    "slow",
    "dangerous",
    "connection",
    "transaction",
];

const KEYSPACE: &[&str] = &[
    "copy",
    "dbsize",
    "del",
    "dump",
    "exists",
    "expire",
    "expireat",
    "expiretime",
    "flushall",
    "flushdb",
    "keys",
    "move",
    "object",
    "persist",
    "pexpire",
    "pexpireat",
    "pexpiretime",
    "pttl",
    "randomkey",
    "rename",
    "renamenx",
    "restore",
    "scan",
    "swapdb",
    "touch",
    "ttl",
    "type",
    "unlink",
];
const CONNECTION: &[&str] =
    &["auth", "client", "command", "echo", "hello", "ping", "quit", "reset", "select", "wait", "waitaof"];
const TRANSACTION: &[&str] = &["multi", "exec", "discard", "watch", "unwatch"];
/// Those that administrate the server.
const ADMIN: &[&str] =
    &["acl", "config", "latency", "monitor", "replicaof", "role", "shutdown", "slaveof", "slowlog"];
/// Further ones that a careless client does harm with.
const DANGEROUS: &[&str] = &["flushall", "flushdb", "info", "keys", "restore", "swapdb"];

/// Whether a command administrates the server: monitors are not shown it.
pub(crate) fn is_administrative(name: &[u8]) -> bool {
    ADMIN.iter().any(|one| crate::arguments::is(name, one))
}

/// The categories of a command.
pub(super) fn categories(command: &Command) -> Vec<&'static str> {
    let is_of = |names: &[&str]| names.contains(&command.name);
    let (reads, writes) = (reads(command), writes(command));
    let is_bitmap = ["bit", "setbit", "getbit"].iter().any(|start| command.name.starts_with(start));
    let is_string = !is_of(KEYSPACE) && !is_bitmap && command.keys != Keys::None;
    let is_fast = matches!(
        command.form,
        CommandForm::Read(_) | CommandForm::Values(_) | CommandForm::Write(..) | CommandForm::Update(_)
    );
    let holds = [
        ("keyspace", is_of(KEYSPACE)),
        ("read", reads),
        ("write", writes),
        ("string", is_string && (reads || writes)),
        ("bitmap", is_bitmap),
        ("admin", is_of(ADMIN)),
        ("fast", is_fast),
        ("slow", !is_fast),
        ("dangerous", is_of(ADMIN) || is_of(DANGEROUS)),
        ("connection", is_of(CONNECTION)),
        ("transaction", is_of(TRANSACTION)),
    ];
    holds.iter().filter(|(_, holds)| *holds).map(|(category, _)| *category).collect()
}

/// Commands that serve, of which one has to know that they read pairs, or write them.
const READING: &[&str] = &["dbsize", "keys", "memory", "randomkey", "scan", "ri.count"];
const WRITING: &[&str] = &["copy", "flushall", "flushdb", "move", "ri.delrange", "swapdb"];

/// Commands that write and need no memory to speak of: a store that is full takes them.
const FREEING: &[&str] = &[
    "del",
    "delex",
    "expire",
    "expireat",
    "flushall",
    "flushdb",
    "getdel",
    "getex",
    "move",
    "persist",
    "pexpire",
    "pexpireat",
    "rename",
    "renamenx",
    "ri.delrange",
    "swapdb",
    "unlink",
];

/// Whether it may take memory, so that a store that uses more than `maxmemory` refuses it.
pub(crate) fn allocates_memory(command: &Command) -> bool {
    writes(command) && !FREEING.contains(&command.name)
}

/// Whether it reads pairs and writes none.
pub(crate) fn reads(command: &Command) -> bool {
    command.only_reads() || READING.contains(&command.name)
}

/// Whether it may write pairs.
pub(crate) fn writes(command: &Command) -> bool {
    matches!(command.form, CommandForm::Write(..) | CommandForm::Update(_)) || WRITING.contains(&command.name)
}
