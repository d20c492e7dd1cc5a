//! Arguments that are longer than any honest client sends, and more of them: each costs the server little.
#![allow(missing_docs)]

mod common;

use honeycomb_protocol::resp::{Reply, encode};

use common::{Client, show, start};

/// Sends the words of a line and one more argument, and returns the reply as text.
fn reply_with(client: &mut Client, line: &str, last: &[u8]) -> String {
    let mut arguments: Vec<&[u8]> = line.split_ascii_whitespace().map(str::as_bytes).collect();
    arguments.push(last);
    client.send(&arguments);
    show(&client.receive())
}

#[test]
fn errors_show_the_beginning_of_an_argument() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = vec![b'x'; 32 << 10];
    let lines = [
        "",
        "CLIENT",
        "CLIENT LIST TYPE",
        "CLIENT LIST USER",
        "ACL CAT",
        "OBJECT",
        "EXPIRE key 1",
        "HELLO 2",
        "LATENCY GRAPH",
        "CONFIG SET timeout",
    ];
    for line in lines {
        let error = reply_with(&mut client, line, &long);
        assert!(error.starts_with('!') && error.contains(&"x".repeat(128)), "{line}: {error}");
        assert!(!error.contains(&"x".repeat(129)) && error.len() < 300, "{line}: {} bytes", error.len());
    }
    for arguments in [[&b"CLIENT"[..], b"SETINFO", &long, b"a"], [b"CONFIG", b"SET", &long, b"a"]] {
        client.send(&arguments);
        let error = show(&client.receive());
        assert!(error.starts_with('!') && error.contains(&"x".repeat(128)), "{error}");
        assert!(!error.contains(&"x".repeat(129)), "{} bytes", error.len());
    }
}

#[test]
fn an_unknown_command_of_bytes_that_are_not_text_has_a_short_error() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send(&[&vec![0xff; 1 << 20]]);
    let Reply::Error(error) = client.receive() else { panic!("the command is not known") };
    assert!(error.starts_with("ERR unknown command '\u{fffd}\u{fffd}") && error.len() < 300, "{error}");
}

#[test]
fn names_of_clients_have_a_limit() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = [b'n'; 1025];
    for line in ["CLIENT SETNAME", "HELLO 2 SETNAME", "CLIENT SETINFO LIB-NAME", "CLIENT SETINFO lib-ver"] {
        for bytes in [1023, 1024] {
            let reply = reply_with(&mut client, line, &long[..bytes]);
            assert!(!reply.starts_with('!'), "{line} of {bytes} bytes: {reply}");
        }
        let error = reply_with(&mut client, line, &long);
        assert!(error.ends_with(" of 1025 bytes: at most 1024 are allowed"), "{line}: {error}");
    }
    assert_eq!(client.reply_text("CLIENT GETNAME").len(), 1026);
}

/// Returns the memory of a client after an earlier command.
fn memory_of(client: &mut Client) -> usize {
    client.reply_to("PING");
    let line = client.reply_text("CLIENT INFO");
    let bytes = line.split(' ').find_map(|field| field.strip_prefix("tot-mem=")).unwrap();
    bytes.parse().unwrap()
}

#[test]
fn names_count_as_memory_of_the_client() {
    let running = start();
    let mut client = Client::connect(&running);
    let before = memory_of(&mut client);
    for line in ["CLIENT SETNAME", "CLIENT SETINFO LIB-NAME", "CLIENT SETINFO LIB-VER"] {
        assert_eq!(reply_with(&mut client, line, &[b'n'; 1024]), "OK");
    }
    assert!(memory_of(&mut client) >= before + 3 * 1024);
}

#[test]
fn subscriptions_count_as_memory_of_the_client() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("HELLO 3");
    let before = memory_of(&mut client);
    for number in 0..500 {
        assert!(!client.reply_text(&format!("SUBSCRIBE {number}")).starts_with('!'));
        assert!(!client.reply_text(&format!("PSUBSCRIBE {number}")).starts_with('!'));
    }
    let (full, bytes) = (memory_of(&mut client), 1000 * 90);
    assert!(full >= before + bytes, "{before} {full}");
    client.reply_to("RESET");
    assert!(memory_of(&mut client) < before + bytes / 2);
}

#[test]
fn patterns_have_a_limit() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = [b"*[^", &[b'a'; 1022][..]].concat();
    let lines = [
        "KEYS",
        "SCAN 0 MATCH",
        "PUBSUB CHANNELS",
        "CONFIG GET",
        "COMMAND LIST FILTERBY PATTERN",
        "PSUBSCRIBE",
    ];
    for line in lines {
        let error = reply_with(&mut client, line, &long);
        assert_eq!(error, "!ERR pattern of 1025 bytes: at most 1024 are allowed", "{line}");
        for bytes in [1023, 1024] {
            let reply = reply_with(&mut client, line, &long[..bytes]);
            assert!(!reply.starts_with('!'), "{line} of {bytes} bytes: {reply}");
        }
    }
}

#[test]
fn commands_of_a_core_have_few_arguments() {
    let running = start();
    let mut client = Client::connect(&running);
    for (line, max) in [
        ("COMMAND INFO", 1024),
        ("PUBSUB NUMSUB", 1024),
        ("CLIENT LIST ID", 1024),
        ("CONFIG GET", 1024),
        ("LATENCY HISTOGRAM", 1024),
        ("INFO", 1024),
        ("WATCH", 65_536),
        ("UNSUBSCRIBE", 65_536),
    ] {
        for arguments in [max - 1, max, max + 1] {
            let mut words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            words.resize(arguments, b"1");
            client.send(&words);
            // UNSUBSCRIBE has one reply for each channel.
            let replies = if line == "UNSUBSCRIBE" && arguments <= max { arguments - 1 } else { 1 };
            let reply = (0..replies).map(|_| show(&client.receive())).last().unwrap();
            let expected = format!(" command of {arguments} arguments: at most {max} are allowed");
            assert_eq!(reply.ends_with(&expected), arguments > max, "{line}: {reply}");
        }
    }
}

/// Returns an argument with which a request has a number of bytes.
fn padding(words: &[&[u8]], bytes: usize) -> Vec<u8> {
    let encoded = |last: &[u8]| {
        let mut encoded = Vec::new();
        encode(&[words, &[last]].concat(), &mut encoded);
        encoded.len()
    };
    let mut last = vec![b'a'; bytes];
    while encoded(&last) > bytes {
        last.pop();
    }
    assert_eq!(encoded(&last), bytes);
    last
}

#[test]
fn commands_of_a_core_have_at_most_64_kib() {
    let running = start();
    let mut client = Client::connect(&running);
    for words in [
        &[&b"CLIENT"[..], b"LIST"][..],
        &[b"AUTH"],
        &[b"RI.FILTER", b"-", b"+", b"1", b"WHERE", b"0", b"u8", b"equal"],
        &[b"KEYS"],
    ] {
        for bytes in [65_535, 65_536, 65_537] {
            let last = padding(words, bytes);
            client.send(&[words, &[&last]].concat());
            let reply = show(&client.receive());
            let expected = " command of 65537 bytes: at most 65536 are allowed";
            assert_eq!(reply.ends_with(expected), bytes > 65_536, "{words:?}: {reply}");
        }
    }
}

#[test]
fn a_long_list_of_channels_and_a_long_message_are_allowed() {
    let running = start();
    let mut client = Client::connect(&running);
    let message = vec![b'm'; 1 << 19];
    client.send(&[b"PUBLISH", b"channel", &message]);
    assert_eq!(show(&client.receive()), "0");
    let names: Vec<_> = (0..1000).map(|number| format!("{number:0>400}")).collect();
    let names: Vec<_> = names.iter().map(String::as_bytes).collect();
    client.send(&[&[&b"WATCH"[..]], &names[..]].concat());
    assert_eq!(show(&client.receive()), "OK");
    client.send(&[&[&b"SUBSCRIBE"[..]], &names[..]].concat());
    for number in 1..=1000 {
        assert!(show(&client.receive()).ends_with(&format!(" {number}]")));
    }
    let long = vec![b'c'; 2 << 20];
    let error = reply_with(&mut client, "SUBSCRIBE", &long);
    assert!(error.ends_with("bytes: at most 2097152 are allowed"), "{error}");
}

/// A message compares the name of its channel with all patterns of all clients.
#[test]
fn the_name_of_a_channel_has_a_limit() {
    let running = start();
    let mut client = Client::connect(&running);
    for bytes in [1024, 1025] {
        let name = vec![b'c'; bytes];
        client.send(&[b"PUBLISH", &name, b"message"]);
        let published = show(&client.receive());
        client.send(&[b"SUBSCRIBE", &name]);
        let subscribed = show(&client.receive());
        match bytes {
            1024 => assert!(published == "0" && subscribed.ends_with(" 1]"), "{published} {subscribed}"),
            _ => assert!([published, subscribed].iter().all(|it| it.ends_with("at most 1024 are allowed"))),
        }
        client = Client::connect(&running);
    }
}

#[test]
fn a_long_command_aborts_its_transaction() {
    let running = start();
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("MULTI"), "OK");
    client.send(&[&[&b"COMMAND"[..], b"INFO"][..], &[&b"get"[..]; 2000][..]].concat());
    assert!(show(&client.receive()).contains("at most 1024 are allowed"));
    assert!(client.reply_text("EXEC").starts_with("!EXECABORT"));
}

#[test]
fn functions_over_ranges_have_at_most_8_conditions() {
    let running = start();
    let mut client = Client::connect(&running);
    let lines = ["RI.COUNT - +", "RI.FILTER - + 9", "RI.REDUCE - + u8 add 0", "RI.TOP - + 9 u8"];
    for line in lines {
        for conditions in [7, 8, 9] {
            let reply = client.reply_text(&format!("{line}{}", " WHERE 0 u8 greater 1".repeat(conditions)));
            let expected = "!ERR too many conditions: at most 8 are allowed";
            assert_eq!(reply == expected, conditions > 8, "{line}: {reply}");
            assert!(conditions > 8 || !reply.starts_with('!'), "{line}: {reply}");
        }
    }
}
