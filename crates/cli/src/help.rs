//! The longer texts of `--help`.

/// The exit statuses.
pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 success; 1 the key is absent or a check failed; 2 error";

/// The description of `index`.
pub(crate) const INDEX: &str = "\
Index a directory tree and compare the answers of the store with the file system.

Table `files` maps paths to attributes; table `chunks` maps (file, offset) to chunks of 64 KiB to 1 MiB. Then
the command lists directories (prefix scans), looks up the chunks of byte ranges (scans with floor start) and
finds the largest files below directories, and compares every answer with the file system. The report names
files that change meanwhile.";

/// The examples of `index`.
pub(crate) const INDEX_EXAMPLES: &str = "\
Examples:
  honeycomb index /usr
  honeycomb index --store usr.honeycomb /usr
  honeycomb index --server 127.0.0.1:6379 /usr";

/// The examples of `load`.
pub(crate) const LOAD_EXAMPLES: &str = "\
Examples:
  honeycomb load --store words.honeycomb words.tsv
  honeycomb load --store people.honeycomb --key-column email --value-column name people.csv
  honeycomb scan --store a --json | honeycomb load --store b --format jsonl --escaped -";

/// The description of `get`.
pub(crate) const GET: &str = "\
Print the value of a key.

Without --hex, --base64 and --json, the output is exactly the bytes of the value.";

/// The examples of `get`.
pub(crate) const GET_EXAMPLES: &str = "\
Examples:
  honeycomb get --store words.honeycomb honey
  honeycomb get --store usr.honeycomb --table files --hex 2f7573722f0062696e";

/// The description of `scan`.
pub(crate) const SCAN: &str = "\
Print pairs in key order, one per line: key, tab, value; with --json, one object per line.

Printable UTF-8 characters stay. A backslash becomes \\\\, tab \\t, line feed \\n, carriage return \\r, and
every other byte \\xNN. Keys in arguments use the same escapes.";

/// The examples of `scan`.
pub(crate) const SCAN_EXAMPLES: &str = "\
Examples:
  honeycomb scan --store words.honeycomb --prefix honey --limit 10
  honeycomb scan --store usr.honeycomb --table files --keys-only --prefix '/usr/\\x00'";

/// The examples of `stats`.
pub(crate) const STATS_EXAMPLES: &str = "\
Example:
  honeycomb stats --store usr.honeycomb";

/// The description of `verify`.
pub(crate) const VERIFY: &str = "\
Check every invariant of the trees and of the memory of a whole store.";

/// The examples of `verify`.
pub(crate) const VERIFY_EXAMPLES: &str = "\
Example:
  honeycomb verify --store usr.honeycomb";

/// The description of `tour`.
pub(crate) const TOUR: &str = "\
Start a server, index a directory tree over the wire, and show a tour of commands.

The command starts a server (`honeycomb serve`), indexes the directory and compares all answers as `honeycomb
index --server` does, and prints the replies to a tour of commands. Then it serves until Ctrl-C, checks every
invariant of the store, and prints its contents and their memory. With --dir the server is durable and a
process of its own, which the command kills in the middle of the tour and starts again.";

/// The examples of `tour`.
pub(crate) const TOUR_EXAMPLES: &str = "\
Examples:
  honeycomb tour /usr
  honeycomb tour --dir data /usr
  honeycomb tour --address 127.0.0.1:0 --once /usr/lib";

/// The description of `backup`.
pub(crate) const BACKUP: &str = "\
Copy the store of a running server into a file, at one version.

The server writes a checkpoint while it serves its other clients, and the command copies it. --rate limits the
bytes per second. If the command is interrupted, start it again with the same file: it continues where it
stopped, as long as the server still has this checkpoint, and otherwise begins anew. `honeycomb restore`
builds a directory from the file; `honeycomb scan`, `get`, `stats` and `verify` read it as an image.

Unordered databases keep no old values, so their pairs are not all of this version: each is as it was at some
moment while the server wrote the checkpoint. A restore with the log files of that time makes them those of
one version.";

/// The examples of `backup`.
pub(crate) const BACKUP_EXAMPLES: &str = "\
Examples:
  honeycomb backup monday.honeycomb
  honeycomb backup --server 10.0.0.7:6379 --rate 50MiB monday.honeycomb";

/// The description of `restore`.
pub(crate) const RESTORE: &str = "\
Build the directory of a durable store from a backup and, up to a point in time, from log files.

`honeycomb serve --archive` copies log files when they are full. With --log the restore continues the backup
with their changes: all of them, or those up to a version or a time. The log states the time of each group of
changes, which is the time of a change to within some milliseconds. The newest changes are only in the
directory of the server; give it as another --log. A store that was restored to an earlier point in time needs
an empty archive.

The pairs of unordered databases in a backup are of moments after its version, while the server wrote it. So
give the log files of that time, and choose no point in time before its end: otherwise these databases have
pairs of different moments, or later ones than the point in time.";

/// The examples of `restore`.
pub(crate) const RESTORE_EXAMPLES: &str = "\
Examples:
  honeycomb restore monday.honeycomb data
  honeycomb restore --log archive --log old-data monday.honeycomb data
  honeycomb restore --log archive --to-time 2026-11-24T21:05:30Z monday.honeycomb data";

/// The description of `log`.
pub(crate) const LOG: &str = "\
Inspect and repair the log of a durable store.

A durable store (`honeycomb serve --dir`) writes all changes into log files, and from time to time a
checkpoint. If the server refuses to start because the log is corrupt, `verify` shows the place, `dump` the
records before it, and `truncate` removes the invalid record and all later ones. If the manifest is damaged
or absent, `rebuild` writes a new one and loses nothing. All have --json. `list` and `dump` also read the log
of a running server, up to what it has written by then.";

/// The examples of `log`.
pub(crate) const LOG_EXAMPLES: &str = "\
Examples:
  honeycomb log list data
  honeycomb log dump --from 1200 --limit 10 data
  honeycomb log verify --json data
  honeycomb log rebuild data";

/// The description of `serve`.
pub(crate) const SERVE: &str = "\
Serve a store to Redis clients and, with --ocsm and --batch, to clients of datagrams.

With --dir the store is durable: the server loads it at the start, and no reply leaves before the data that
it depends on is on the disk; --durability relaxes that. Without --dir the store starts empty and stays in
memory.

After Ctrl-C or the signal TERM, the server executes the commands that clients have sent, sends the replies,
and stops. Each parameter can be set in the file of --config, in
the environment (HONEYCOMB_MAXCLIENTS and so on) or by a flag. Later sources override earlier ones.
--print-config prints such a file.";

/// The examples of `serve`.
pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  honeycomb serve
  honeycomb serve --dir data --durability everysec
  honeycomb serve --address 127.0.0.1:7000 --memory 8GiB --metrics 127.0.0.1:9121
  honeycomb serve --batch 127.0.0.1:6380 --ocsm 127.0.0.1:6381
  honeycomb serve --maxclients 100 --print-config > honeycomb.toml
  HONEYCOMB_REQUIREPASS=secret honeycomb serve --config honeycomb.toml";
