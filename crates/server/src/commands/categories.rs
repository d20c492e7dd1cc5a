//! The ACL categories of commands, and which commands read, write or allocate.

use crate::command::{Command, CommandForm, Keys};

/// All categories that contain a command of this server.
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
    "pubsub",
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
const PUBSUB: &[&str] = &["psubscribe", "publish", "pubsub", "punsubscribe", "subscribe", "unsubscribe"];
/// Commands that administer the server.
const ADMIN: &[&str] = &[
    "acl",
    "bgrewriteaof",
    "bgsave",
    "config",
    "lastsave",
    "latency",
    "monitor",
    "replicaof",
    "ri.backup",
    "role",
    "save",
    "shutdown",
    "slaveof",
    "slowlog",
];
/// Further commands that are dangerous if a client uses them carelessly.
const DANGEROUS: &[&str] = &["flushall", "flushdb", "info", "keys", "restore", "swapdb"];

/// Commands whose replies are about the server or the client itself.
const ABOUT_THE_SERVER: &[&str] = &[
    "acl",
    "auth",
    "client",
    "command",
    "discard",
    "echo",
    "hello",
    "lastsave",
    "latency",
    "lolwut",
    "monitor",
    "multi",
    "ping",
    "psubscribe",
    "publish",
    "pubsub",
    "punsubscribe",
    "quit",
    "replicaof",
    "reset",
    "role",
    "select",
    "shutdown",
    "slaveof",
    "slowlog",
    "subscribe",
    "time",
    "unsubscribe",
    "unwatch",
];

/// Returns whether the replies of a command depend on no pairs, so that they wait for no write of the log.
pub(crate) fn is_about_the_server(command: &Command) -> bool {
    ABOUT_THE_SERVER.contains(&command.name)
}

/// Returns whether a command administers the server. `MONITOR` omits such commands.
pub(crate) fn is_administrative(name: &[u8]) -> bool {
    ADMIN.iter().any(|admin| crate::arguments::is(name, admin))
}

/// Returns the categories of a command. The first is its group.
pub(super) fn categories(command: &Command) -> Vec<&'static str> {
    let is_in = |names: &[&str]| names.contains(&command.name);
    let (reads, writes) = (reads(command), writes(command));
    let is_bitmap = ["bit", "setbit", "getbit"].iter().any(|start| command.name.starts_with(start));
    let is_string = !is_in(KEYSPACE) && !is_bitmap && command.keys != Keys::None;
    let is_fast = matches!(
        command.form,
        CommandForm::Read(_) | CommandForm::Values(_) | CommandForm::Write(..) | CommandForm::Update(_)
    );
    let memberships = [
        ("keyspace", is_in(KEYSPACE)),
        ("read", reads),
        ("write", writes),
        ("string", is_string && (reads || writes)),
        ("bitmap", is_bitmap),
        ("admin", is_in(ADMIN)),
        ("fast", is_fast),
        ("slow", !is_fast),
        ("dangerous", is_in(ADMIN) || is_in(DANGEROUS)),
        ("connection", is_in(CONNECTION)),
        ("transaction", is_in(TRANSACTION)),
        ("pubsub", is_in(PUBSUB)),
    ];
    memberships.iter().filter(|(_, is_member)| *is_member).map(|(category, _)| *category).collect()
}

/// Commands that read or write pairs although the form of their handler does not show it.
const READING: &[&str] = &[
    "dbsize",
    "keys",
    "memory",
    "randomkey",
    "scan",
    "ri.changes",
    "ri.count",
    "ri.filter",
    "ri.reduce",
    "ri.top",
    "ri.watch",
];
const WRITING: &[&str] = &["copy", "flushall", "flushdb", "move", "ri.delrange", "swapdb"];

/// Writes that need hardly any memory. A full store accepts them.
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

/// Returns whether a command may allocate memory. A store that exceeds `maxmemory` rejects such commands.
pub(crate) fn allocates_memory(command: &Command) -> bool {
    writes(command) && !FREEING.contains(&command.name)
}

/// Returns whether a command reads pairs and writes none.
pub(crate) fn reads(command: &Command) -> bool {
    command.only_reads() || READING.contains(&command.name)
}

/// Returns whether a command may write pairs.
pub(crate) fn writes(command: &Command) -> bool {
    matches!(command.form, CommandForm::Write(..) | CommandForm::Update(_)) || WRITING.contains(&command.name)
}
