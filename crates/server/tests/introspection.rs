//! Commands that describe the server, commands and clients, and commands that affect other clients.
#![allow(missing_docs)]

mod common;

use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::Reply;
use honeycomb_server::Config;

use common::{Client, Running, dialogue, show, start_with};

/// Starts a server with two cores, so that the clients are on different ones.
fn start() -> Running {
    start_with(Config { cores: 2, ..Config::default() })
}

/// Waits until a condition is true.
fn wait_for(description: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < until, "{description}");
        sleep(Duration::from_millis(2));
    }
}

/// Returns the value of a field in a line of `CLIENT LIST`.
fn field<'l>(line: &'l str, name: &str) -> &'l str {
    let value = line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("{name} is not in {line}"))
}

#[test]
fn client_info_has_the_fields_of_redis_in_order() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send_bytes(b"*2\r\n$6\r\nclient\r\n$4\r\ninfo\r\n");
    let answer = common::show(&client.receive());
    let line = answer.trim_matches('\'').trim_end_matches("\\n");
    let names: Vec<_> = line.split(' ').map(|field| field.split('=').next().unwrap()).collect();
    let expected = "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free \
        argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver \
        io-thread tot-net-in tot-net-out tot-cmds";
    assert_eq!(names.join(" "), expected);
    let address = client.socket.local_addr().unwrap().to_string();
    let local = client.socket.peer_addr().unwrap().to_string();
    for (name, value) in [("addr", &*address), ("laddr", &local), ("qbuf", "26"), ("cmd", "client|info")] {
        assert_eq!(field(line, name), value, "{line}");
    }
    for (name, value) in [("flags", "N"), ("multi", "-1"), ("watch", "0"), ("resp", "2"), ("user", "default")]
    {
        assert_eq!(field(line, name), value, "{line}");
    }
    assert!(field(line, "fd").parse::<i32>().unwrap() > 2, "{line}");
}

#[test]
fn client_list_shows_the_state_of_a_client() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    let id = client.reply_text("CLIENT ID");
    client.reply_to("HELLO 3 SETNAME bee");
    for line in
        ["CLIENT SETINFO LIB-NAME lib", "CLIENT SETINFO lib-ver 1.2", "CLIENT NO-TOUCH on", "SELECT 2"]
    {
        assert_eq!(client.reply_text(line), "OK");
    }
    for line in ["WATCH a b", "MULTI", "SET a 1"] {
        client.reply_to(line);
    }
    let mut line = String::new();
    wait_for("the line does not show the last command", || {
        line = other.reply_text(&format!("CLIENT LIST ID {id}"));
        line.contains("cmd=set ") && line.contains("multi=1 ")
    });
    for (name, value) in [("name", "bee"), ("flags", "xT"), ("db", "2"), ("multi", "1"), ("watch", "2")] {
        assert_eq!(field(&line, name), value, "{line}");
    }
    for (name, value) in [("resp", "3"), ("lib-name", "lib"), ("lib-ver", "1.2"), ("tot-cmds", "9")] {
        assert!(field(&line, name).starts_with(value), "{line}");
    }
    assert_eq!(client.reply_text("RESET"), "RESET");
    wait_for("the line does not show the reset", || {
        line = other.reply_text(&format!("CLIENT LIST ID {id}"));
        line.contains("cmd=reset ") && line.contains("multi=-1 ")
    });
    // As in Redis, RESET keeps the library.
    for (name, value) in [("name", ""), ("flags", "N"), ("db", "0"), ("multi", "-1"), ("lib-name", "lib")] {
        assert_eq!(field(&line, name), value, "{line}");
    }
}

#[test]
fn invalid_client_commands_return_errors() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("CLIENT KILL", "!ERR wrong number of arguments for 'client|kill' command"),
            ("CLIENT KILL id 10 wrong", "!ERR syntax error"),
            ("CLIENT KILL id str", "!ERR client-id should be greater than 0"),
            ("CLIENT KILL id 0", "!ERR client-id should be greater than 0"),
            ("CLIENT KILL type wrong", "!ERR Unknown client type 'wrong'"),
            ("CLIENT KILL user wrong", "!ERR No such user 'wrong'"),
            ("CLIENT KILL skipme maybe", "!ERR syntax error"),
            ("CLIENT KILL maxage str", "!ERR maxage is not an integer or out of range"),
            ("CLIENT KILL maxage -1", "!ERR maxage should be greater than 0"),
            ("CLIENT KILL 000.123.321.567:0000", "!ERR No such client"),
            ("CLIENT KILL type master", "0"),
            ("CLIENT LIST TYPE pubsub", "''"),
            ("CLIENT NO-EVICT maybe", "!ERR syntax error"),
            ("CLIENT REPLY maybe", "!ERR syntax error"),
            ("CLIENT PAUSE abc", "!ERR timeout is not an integer or out of range"),
            ("CLIENT PAUSE -1", "!ERR timeout is negative"),
            ("CLIENT PAUSE 1 none", "!ERR syntax error"),
            (
                "CLIENT SETNAME a\tb",
                "!ERR Client names cannot contain spaces, newlines or special characters.",
            ),
            ("CLIENT SETINFO badger hamster", "!ERR Unrecognized option 'badger'"),
            (
                "CLIENT SETINFO lib-name a\nb",
                "!ERR lib-name cannot contain spaces, newlines or special characters.",
            ),
            ("CLIENT TRACKING maybe", "!ERR syntax error"),
            ("CLIENT TRACKING on wrong", "!ERR syntax error"),
            ("CLIENT TRACKING off", "OK"),
            ("CLIENT TRACKING off optout", "OK"),
            (
                "CLIENT TRACKING on",
                "!ERR CLIENT TRACKING ON: this server does not notify clients of changed keys",
            ),
            (
                "CLIENT CACHING yes",
                "!ERR CLIENT CACHING can be called only when the client is in tracking mode",
            ),
            ("CLIENT TRACKINGINFO", "['flags' ['off'] 'redirect' -1 'prefixes' []]"),
            ("CLIENT GETREDIR", "-1"),
            ("CLIENT UNBLOCK 5", "0"),
            ("CLIENT UNBLOCK 5 why", "!ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
        ],
    );
}

#[test]
fn client_kill_disconnects_matching_clients() {
    let running = start();
    let mut clients: Vec<_> = (0..12).map(|_| Client::connect(&running)).collect();
    let ids: Vec<_> = clients.iter_mut().map(|client| client.reply_text("CLIENT ID")).collect();
    let address = clients[0].socket.local_addr().unwrap();
    let mut other = Client::connect(&running);
    assert_eq!(other.reply_text(&format!("CLIENT KILL {address}")), "OK");
    assert!(clients[0].is_closed());
    assert_eq!(other.reply_text(&format!("CLIENT KILL ID {} {}", ids[1], ids[2])), "2");
    assert!(clients[1].is_closed() && clients[2].is_closed());
    let address = clients[3].socket.local_addr().unwrap();
    assert_eq!(other.reply_text(&format!("CLIENT KILL ADDR {address} ID {}", ids[4])), "0");
    assert_eq!(other.reply_text(&format!("CLIENT KILL ADDR {address} ID {}", ids[3])), "1");
    assert!(clients[3].is_closed());
    running.time.advance(10_000);
    let mut young = Client::connect(&running);
    assert_eq!(young.reply_text("CLIENT KILL MAXAGE 10 SKIPME no ID 1000"), "0");
    assert_eq!(young.reply_text(&format!("CLIENT KILL MAXAGE 10 ID {}", ids[5])), "1");
    assert!(clients[5].is_closed());
    wait_for("CLIENT LIST still shows killed clients", || {
        young.reply_text("CLIENT LIST").matches(" addr=").count() == 9
    });
    assert_eq!(young.reply_text("CLIENT KILL TYPE normal USER default"), "8");
    assert!(clients[6..].iter_mut().all(Client::is_closed) && other.is_closed());
    // A client that kills itself receives the reply. The server does not execute its later commands.
    young.send_bytes(b"CLIENT KILL SKIPME no\r\nSET a 1\r\n");
    assert_eq!(common::show(&young.receive()), "1");
    assert!(young.is_closed());
    assert_eq!(Client::connect(&running).reply_text("GET a"), "nil");
}

#[test]
fn client_reply_suppresses_replies() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send_bytes(
        b"CLIENT REPLY OFF\r\nSET a 1\r\nGET a\r\nNONSENSE\r\nINCR a\r\nCLIENT REPLY SKIP\r\nGET a\r\n",
    );
    client.send_bytes(b"CLIENT REPLY ON\r\nGET a\r\n");
    assert_eq!(["OK", "'2'"], [(); 2].map(|()| common::show(&client.receive())).each_ref().map(|s| &**s));
    client.send_bytes(b"CLIENT REPLY SKIP\r\nGET a\r\nINCR a\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\n");
    assert_eq!(["3", "OK"], [(); 2].map(|()| common::show(&client.receive())).each_ref().map(|s| &**s));
    client.send_bytes(b"CLIENT REPLY OFF\r\nRESET\r\nPING\r\n");
    // As in Redis, RESET is the first command with a reply.
    assert_eq!(["RESET", "PONG"], [(); 2].map(|()| common::show(&client.receive())).each_ref().map(|s| &**s));
}

#[test]
fn commands_wait_until_a_pause_ends() {
    let running = start();
    let (mut client, mut reader, mut writer) =
        (Client::connect(&running), Client::connect(&running), Client::connect(&running));
    assert_eq!(client.reply_text("CLIENT PAUSE 100000 WRITE"), "OK");
    writer.send_bytes(b"GET a\r\nSET a 1\r\nINCR a\r\nMULTI\r\nSET a 5\r\nEXEC\r\nGET a\r\n");
    assert_eq!(common::show(&writer.receive()), "nil");
    for _ in 0..20 {
        assert_eq!(reader.reply_text("GET a"), "nil");
        assert_eq!(reader.reply_text("PING"), "PONG");
    }
    dialogue(&mut reader, &[("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "[nil]")]);
    reader.send_bytes(b"PUBLISH news hello\r\n");
    reader.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(reader.socket.read(&mut [0; 1]).is_err());
    reader.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(client.reply_text("CLIENT UNPAUSE"), "OK");
    assert_eq!(common::show(&reader.receive()), "0");
    let answers: Vec<_> = (0..6).map(|_| common::show(&writer.receive())).collect();
    assert_eq!(answers, ["OK", "2", "OK", "QUEUED", "[OK]", "'5'"]);
    // The pause ends when the manual clock advances.
    assert_eq!(client.reply_text("CLIENT PAUSE 1000"), "OK");
    reader.send_bytes(b"GET a\r\n");
    reader.socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(reader.socket.read(&mut [0; 1]).is_err());
    running.time.advance(1000);
    reader.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(common::show(&reader.receive()), "'5'");
}

#[test]
fn command_describes_commands() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("COMMAND GETKEYS GET key", "['key']"),
            ("COMMAND GETKEYS MSET a 1 b 2", "['a' 'b']"),
            ("COMMAND GETKEYS MEMORY USAGE key", "['key']"),
            ("COMMAND GETKEYS del a b c", "['a' 'b' 'c']"),
            ("COMMAND GETKEYS MSETEX 2 a 1 b 2 EX 10", "['a' 'b']"),
            ("COMMAND GETKEYS MSETEX x a 1", "!ERR Invalid arguments specified for command"),
            ("COMMAND GETKEYS MSETEX 2 a 1", "!ERR Invalid arguments specified for command"),
            ("COMMAND GETKEYS PING", "!ERR The command has no key arguments"),
            ("COMMAND GETKEYS nothing a", "!ERR Invalid command specified"),
            ("COMMAND GETKEYS GET", "!ERR Invalid number of arguments specified for command"),
            ("COMMAND GETKEYSANDFLAGS SET k v", "[['k' [OW update]]]"),
            ("COMMAND GETKEYSANDFLAGS MSET k 1 l 2", "[['k' [OW update]] ['l' [OW update]]]"),
            ("COMMAND LIST FILTERBY PATTERN set", "['set']"),
            ("COMMAND LIST FILTERBY PATTERN CL*list", "['client|list']"),
            ("COMMAND LIST FILTERBY PATTERN a*help", "['acl|help']"),
            (
                "COMMAND INFO config|get config|nothing",
                "[['config|get' -3 [admin] 0 0 0 [@admin @slow @dangerous] [] [] []] nil]",
            ),
            ("COMMAND LIST FILTERBY MODULE none", "[]"),
            ("COMMAND LIST FILTERBY ACLCAT none", "[]"),
            ("COMMAND LIST FILTERBY ACLCAT transaction", "['discard' 'exec' 'multi' 'unwatch' 'watch']"),
            ("COMMAND LIST bad", "!ERR syntax error"),
            ("COMMAND LIST FILTERBY bad", "!ERR syntax error"),
            ("COMMAND LIST FILTERBY bad bad", "!ERR syntax error"),
            ("COMMAND INFO get|key", "[nil]"),
            ("COMMAND NOTHING", "!ERR unknown subcommand 'NOTHING'. Try COMMAND HELP."),
        ],
    );
    let all = client.reply_text("COMMAND LIST");
    assert!(all.contains("'get'") && all.contains("'config|get'"), "{all}");
    let count: usize = client.reply_text("COMMAND COUNT").parse().unwrap();
    let described = client.reply_text("COMMAND");
    assert_eq!(all.split(' ').filter(|name| !name.contains('|')).count(), count);
    assert!(described.contains("['config' -2 "), "{described}");
}

#[test]
fn every_container_has_help() {
    let running = start();
    let mut client = Client::connect(&running);
    for name in ["ACL", "CLIENT", "COMMAND", "CONFIG", "LATENCY", "MEMORY", "OBJECT", "SLOWLOG"] {
        let help = client.reply_text(&format!("{name} HELP"));
        let begin = format!("[{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are: ");
        assert!(help.starts_with(&begin) && help.ends_with("HELP     This text.]"), "{help}");
        let unknown = client.reply_text(&format!("{name} NOTHING"));
        assert!(unknown.contains(&format!("Try {name} HELP")), "{unknown}");
    }
}

#[test]
fn info_has_the_sections_and_fields_that_tools_expect() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("SET a 1");
    let default = client.reply_text("INFO");
    for part in [
        "# Server\\r\\nredis_version:8.0.0\\r\\n",
        "\\r\\nredis_mode:standalone\\r\\n",
        &format!("\\r\\nprocess_id:{}\\r\\n", std::process::id()),
        &format!("\\r\\ntcp_port:{}\\r\\n", running.server.address().port()),
        "\\r\\narch_bits:64\\r\\n",
        "\\r\\n\\r\\n# Clients\\r\\nconnected_clients:1\\r\\n",
        "\\r\\nmaxclients:10000\\r\\n",
        "\\r\\nmaxmemory:67108864\\r\\nmaxmemory_human:64.00M\\r\\n",
        "# Persistence\\r\\nloading:0\\r\\n",
        "# Replication\\r\\nrole:master\\r\\nconnected_slaves:0\\r\\n",
        "# Cluster\\r\\ncluster_enabled:0\\r\\n",
        "# Keyspace\\r\\ndb0:keys=1",
    ] {
        assert!(default.contains(part), "{part} is not in {default}");
    }
    assert!(!default.contains("# Commandstats"), "{default}");
    let number = |text: &str, name: &str| -> u64 {
        let value = text.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
    };
    let [used, resident, peak] =
        ["used_memory", "used_memory_rss", "used_memory_peak"].map(|name| number(&default, name));
    assert!(used > 1 << 14 && resident > 1 << 20 && peak >= used, "{default}");
    let run_id = default.split("run_id:").nth(1).unwrap().split("\\r").next().unwrap();
    assert!(run_id.len() == 40 && run_id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{run_id}");
    let sections = client.reply_text("INFO commandstats CPU nothing latencystats");
    assert!(sections.starts_with("'# CPU\\r\\n") && sections.contains("cmdstat_set:calls=1,"), "{sections}");
    assert!(sections.contains("latency_percentiles_usec_set:p50=1024.000,p99=1024.000"), "{sections}");
    assert!(!sections.contains("# Server"), "{sections}");
    assert!(
        client.reply_text("INFO everything").contains("# Modules")
            && client.reply_text("INFO all").contains("cmdstat")
    );
    wait_for("instantaneous_ops_per_sec stays 0", || {
        (0..100).for_each(|_| drop(client.reply_to("GET a")));
        running.time.advance(1000);
        sleep(Duration::from_millis(150));
        number(&client.reply_text("INFO stats"), "instantaneous_ops_per_sec") > 0
    });
}

#[test]
fn hello_takes_effect_completely_or_not_at_all() {
    let running = start_with(Config { cores: 1, password: Some("secret".into()), ..Config::default() });
    let mut client = Client::connect(&running);
    let unauthenticated = client.reply_text("HELLO 3");
    assert!(unauthenticated.starts_with("!NOAUTH HELLO must be called"), "{unauthenticated}");
    assert!(client.reply_text("HELLO 3 AUTH default wrong SETNAME bee").starts_with("!WRONGPASS"));
    assert!(client.reply_text("HELLO 3 AUTH nobody secret").starts_with("!WRONGPASS"));
    assert_eq!(client.reply_text("HELLO three"), "!ERR Protocol version is not an integer or out of range");
    assert_eq!(client.reply_text("HELLO 4"), "!NOPROTO unsupported protocol version");
    let error = "!ERR Syntax error in HELLO option 'SETNAME'";
    assert_eq!(client.reply_text("HELLO 3 AUTH default secret SETNAME"), error);
    assert_eq!(client.reply_text("GET a"), "!NOAUTH Authentication required.");
    let hello = client.reply_text("HELLO 3 SETNAME bee AUTH default secret");
    assert!(hello.contains("'version': '8.0.0', 'proto': 3") && hello.contains("'modules': []"), "{hello}");
    assert_eq!(client.reply_text("CLIENT GETNAME"), "'bee'");
    assert!(client.reply_text("HELLO").contains("'proto': 3"));
    assert_eq!(client.reply_text("RESET"), "RESET");
    assert_eq!(client.reply_text("GET a"), "!NOAUTH Authentication required.");
    assert_eq!(client.reply_text("AUTH default secret"), "OK");
    assert_eq!(client.reply_text("CLIENT GETNAME"), "nil");
}

#[test]
fn reset_works_in_all_states() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("WATCH a");
    client.reply_to("MULTI");
    client.reply_to("SET a 1");
    dialogue(&mut client, &[("RESET", "RESET"), ("EXEC", "!ERR EXEC without MULTI"), ("GET a", "nil")]);
    dialogue(&mut client, &[("MONITOR", "OK"), ("RESET", "RESET")]);
    Client::connect(&running).reply_to("SET b 1");
    dialogue(
        &mut client,
        &[
            ("GET b", "'1'"),
            (
                "AUTH secret",
                "!ERR AUTH <password> called without any password \
        configured for the default user. Are you sure your configuration is correct?",
            ),
        ],
    );
    dialogue(&mut client, &[("AUTH default any", "OK"), ("ACL WHOAMI", "'default'")]);
}

#[test]
fn commands_about_replication_persistence_and_users() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("ROLE", "['master' 0 []]"),
            ("WAIT 0 10", "0"),
            ("WAIT 1 0", "0"),
            ("WAIT 1 -1", "!ERR timeout is negative"),
            ("WAITAOF 0 0 0", "[0 0]"),
            ("WAITAOF 1 0 0", "!ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."),
            ("REPLICAOF no one", "OK"),
            ("SLAVEOF localhost 1", "!ERR this server cannot be a replica; only REPLICAOF NO ONE is allowed"),
            ("ACL USERS", "['default']"),
            ("ACL LIST", "['user default on nopass ~* &* +@all']"),
            ("ACL CAT nothing", "!ERR Unknown category 'nothing'"),
            ("TIME", "['1700000000' '0']"),
            ("SHUTDOWN maybe", "!ERR syntax error"),
            ("SHUTDOWN SAVE NOSAVE", "!ERR syntax error"),
            ("SHUTDOWN ABORT NOW", "!ERR syntax error"),
            ("SHUTDOWN ABORT", "!ERR No shutdown in progress."),
            ("SHUTDOWN", "!ERR SHUTDOWN: the embedding program does not allow clients to stop this server"),
            ("MEMORY PURGE", "OK"),
        ],
    );
    assert!(client.reply_text("ACL CAT transaction").contains("'exec'"));
    assert!(client.reply_text("ACL CAT").contains("'keyspace'"));
}

#[test]
fn latency_has_events_and_histograms() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    // On the manual clock each command takes a millisecond.
    dialogue(
        &mut client,
        &[
            ("LATENCY LATEST", "[]"),
            ("CONFIG SET latency-monitor-threshold 1", "OK"),
            ("GET a", "nil"),
            ("CONFIG SET latency-monitor-threshold 0", "OK"),
            ("LATENCY LATEST", "[['command' 1700000000 1 1]]"),
            ("LATENCY HISTORY command", "[[1700000000 1]]"),
            ("LATENCY HISTORY other", "[]"),
            ("LATENCY GRAPH other", "!ERR No samples available for event 'other'"),
            ("LATENCY RESET other", "0"),
            ("LATENCY HISTOGRAM get", "['get' ['calls' 1 'histogram_usec' [1024 1]]]"),
            ("LATENCY HISTOGRAM nothing", "[]"),
        ],
    );
    assert!(client.reply_text("LATENCY GRAPH command").contains("command - high 1 ms"));
    assert!(client.reply_text("LATENCY DOCTOR").contains("Latency monitoring is off"));
    assert_eq!(client.reply_text("LATENCY RESET"), "1");
    assert_eq!(client.reply_text("LATENCY LATEST"), "[]");
}

#[test]
fn memory_usage_of_the_server_and_of_a_pair() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    for number in 0..100 {
        client.reply_to(&format!("SET key{number} {}", "v".repeat(1000)));
    }
    client.reply_to("HELLO 3");
    let Reply::Map(fields) = client.reply_to("MEMORY STATS") else { panic!("no map") };
    let field = |name: &str| {
        let entry = fields.iter().find(|(key, _)| *key == Reply::Bulk(name.into()));
        let text = show(&entry.unwrap_or_else(|| panic!("no {name} in {fields:?}")).1);
        text.trim_matches('\'').parse::<f64>().unwrap()
    };
    assert_eq!(field("keys.count"), 100.0);
    assert_eq!(field("keys.bytes-per-key"), (field("dataset.bytes") / 100.0).floor());
    assert!(field("dataset.bytes") > 100_000.0 && field("total.allocated") > field("dataset.bytes"));
    assert!(field("peak.allocated") >= field("total.allocated") && field("peak.percentage") <= 100.0);
    assert_eq!(field("allocator.active"), 67_108_864.0);
    assert!(field("allocator.resident") > field("allocator.allocated") && field("clients.normal") > 0.0);
    client.reply_to("HELLO 2");
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("MEMORY USAGE a", "7"),
            ("MEMORY USAGE a SAMPLES 5", "7"),
            ("MEMORY USAGE b", "nil"),
            ("MEMORY USAGE a SAMPLES x", "!ERR value is not an integer or out of range"),
            ("MEMORY USAGE", "!ERR wrong number of arguments for 'memory|usage' command"),
            ("MEMORY PURGE", "OK"),
            ("MEMORY DOCTOR", "'The server found no memory problems.\\n'"),
            ("MULTI", "OK"),
            ("APPEND a 22", "QUEUED"),
            ("MEMORY USAGE a", "QUEUED"),
            ("EXEC", "[3 9]"),
            ("COMMAND LIST FILTERBY PATTERN memory|u*", "['memory|usage']"),
            ("LOLWUT VERSION x", "!ERR value is not an integer or out of range"),
        ],
    );
    assert!(client.reply_text("MEMORY MALLOC-STATS").contains("nodes: "));
    assert!(client.reply_text("LOLWUT").contains("Redis ver. 8."));
    assert!(client.reply_text("INFO commandstats").contains("cmdstat_memory:calls="));
}
