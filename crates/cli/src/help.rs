//! The longer texts of `--help`.

/// What the exit status says.
pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 the key is absent, or an answer or an invariant is wrong; 2 an error";

/// What `index` does.
pub(crate) const INDEX: &str = "\
Index a directory tree and compare what the store answers with the file system.

Table `files`: path -> metadata. Table `chunks`: (file, offset) -> chunk; every file is cut into chunks of
64 KiB to 1 MiB by its size. Then the store is asked to list directories (prefix scans), for the chunks of
byte ranges (scans with floor start) and for the largest files below directories, and every answer is
compared with the file system. Files that change meanwhile are reported as such.";

/// Examples of `index`.
pub(crate) const INDEX_EXAMPLES: &str = "\
Examples:
  honeycomb index /usr
  honeycomb index --store usr.honeycomb /usr
  honeycomb index --server 127.0.0.1:6379 /usr";

/// Examples of `load`.
pub(crate) const LOAD_EXAMPLES: &str = "\
Examples:
  honeycomb load --store words.honeycomb words.tsv
  honeycomb load --store people.honeycomb --key-column email --value-column name people.csv
  honeycomb scan --store a --json | honeycomb load --store b --format jsonl --escaped -";

/// What `get` does.
pub(crate) const GET: &str = "\
Print the value of a key.

The value is printed as it is, with nothing added, unless --hex, --base64 or --json is there.";

/// Examples of `get`.
pub(crate) const GET_EXAMPLES: &str = "\
Examples:
  honeycomb get --store words.honeycomb honey
  honeycomb get --store usr.honeycomb --table files --hex 2f7573722f0062696e";

/// What `scan` does.
pub(crate) const SCAN: &str = "\
Print pairs in the order of their keys: key, tab, value; with --json an object a line.

Printable UTF-8 stands for itself; a backslash is \\\\, tab \\t, line feed \\n, carriage return \\r, and every
other byte \\xNN. Keys in arguments are read the same way.";

/// Examples of `scan`.
pub(crate) const SCAN_EXAMPLES: &str = "\
Examples:
  honeycomb scan --store words.honeycomb --prefix honey --limit 10
  honeycomb scan --store usr.honeycomb --table files --keys-only --prefix '/usr/\\x00'";

/// Examples of `stats`.
pub(crate) const STATS_EXAMPLES: &str = "\
Example:
  honeycomb stats --store usr.honeycomb";

/// What `verify` does.
pub(crate) const VERIFY: &str = "\
Walk a whole store and check every invariant of its trees and of its memory.";

/// Examples of `verify`.
pub(crate) const VERIFY_EXAMPLES: &str = "\
Example:
  honeycomb verify --store usr.honeycomb";

/// What `tour` does.
pub(crate) const TOUR: &str = "\
Serve, index a directory tree over the wire, and show the server answering.

It starts a server (`honeycomb serve`), indexes the directory through it as `honeycomb index --server` does,
with every answer compared with the file system, and prints what the server answers to a tour of commands.
Then it goes on serving until Ctrl-C ends it, checks every invariant of the store, and says what it holds.";

/// Examples of `tour`.
pub(crate) const TOUR_EXAMPLES: &str = "\
Examples:
  honeycomb tour /usr
  honeycomb tour --address 127.0.0.1:0 --once /usr/lib";

/// What `serve` does.
pub(crate) const SERVE: &str = "\
Serve a store to Redis clients and, with --ocsm and --batch, to datagrams.

The store is empty at first and in memory only. Ctrl-C, or the signal TERM, ends the server once what clients
have sent is carried out and the replies are sent. Every parameter can stand in the file of --config, in the
environment (HONEYCOMB_MAXCLIENTS and so on), or among the flags; what comes later in this list goes before.
--print-config writes such a file.";

/// Examples of `serve`.
pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  honeycomb serve
  honeycomb serve --address 127.0.0.1:7000 --memory 8GiB --metrics 127.0.0.1:9121
  honeycomb serve --batch 127.0.0.1:6380 --ocsm 127.0.0.1:6381
  honeycomb serve --maxclients 100 --print-config > honeycomb.toml
  HONEYCOMB_REQUIREPASS=secret honeycomb serve --config honeycomb.toml";
