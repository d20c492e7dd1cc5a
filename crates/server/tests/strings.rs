//! Conditional writes, expiry on writes, floating-point increments and longest common subsequences.
#![allow(missing_docs)]

mod common;

use common::{BEGIN, Client, dialogue, start};

#[test]
fn setex_and_psetex() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SETEX a 7 1", "OK"),
            ("TTL a", "7"),
            ("EXPIRETIME a", &(BEGIN / 1000 + 7).to_string()),
            ("PSETEX a 1500 2", "OK"),
            ("GET a", "'2'"),
            ("PEXPIRETIME a", &(BEGIN + 1500).to_string()),
            ("SETEX a 0 1", "!ERR invalid expire time in 'setex' command"),
            ("PSETEX a -1 1", "!ERR invalid expire time in 'psetex' command"),
            ("SETEX a x 1", "!ERR value is not an integer or out of range"),
            ("SETEX a 9223372036854775807 1", "!ERR invalid expire time in 'setex' command"),
            ("PEXPIRETIME nothing", "-2"),
            ("SET b 1", "OK"),
            ("EXPIRETIME b", "-1"),
            ("SUBSTR a 0 -1", "'2'"),
        ],
    );
}

#[test]
fn conditions_on_the_existing_value() {
    let running = start();
    let (of_hello, other) = ("9555e8555c62dcfd", "0000000000000000");
    let malformed = "!ERR a digest must be exactly 16 hexadecimal characters";
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SET a hello", "OK"),
            ("DIGEST a", &format!("'{of_hello}'")),
            ("DIGEST nothing", "nil"),
            ("SET a x IFNE hello", "nil"),
            ("SET a x IFNE other GET", "'hello'"),
            ("SET a hello IFEQ x EX 100", "OK"),
            ("TTL a", "100"),
            (&format!("SET a y IFDEQ {other}"), "nil"),
            (&format!("SET a hello IFDEQ {of_hello} KEEPTTL"), "OK"),
            ("TTL a", "100"),
            (&format!("SET a y IFDNE {of_hello}"), "nil"),
            (&format!("SET a hello IFDNE {other}"), "OK"),
            ("SET absent x IFEQ x", "nil"),
            (&format!("SET absent x IFDEQ {other}"), "nil"),
            ("EXISTS absent", "0"),
            ("SET absent x IFNE y", "OK"),
            ("SET a x IFEQ y NX", "!ERR syntax error"),
            ("SET a x NX IFEQ y", "!ERR syntax error"),
            ("SET a x IFEQ", "!ERR syntax error"),
            ("SET a x IFDEQ abc", malformed),
            ("SET a x IFDEQ 9555e8555c62dcfg", malformed),
            ("DELEX a IFEQ x", "0"),
            ("DELEX a IFNE hello", "0"),
            (&format!("DELEX a IFDEQ {other}"), "0"),
            (&format!("DELEX a IFDEQ {}", of_hello.to_uppercase()), "1"),
            ("DELEX a IFNE x", "0"),
            ("DELEX absent", "1"),
            ("DELEX absent", "0"),
            ("DELEX a IFEQ", "!ERR wrong number of arguments for 'delex' command"),
            ("DELEX a IF x", "!ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"),
        ],
    );
}

#[test]
fn several_values_with_one_expiry() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("MSETEX 2 a 1 b 2 EX 100", "1"),
            ("TTL b", "100"),
            ("MSETEX 2 a 3 c 3 NX", "0"),
            ("MSETEX 2 a 3 c 3 XX", "0"),
            ("MGET a b c", "['1' '2' nil]"),
            ("MSETEX 2 a 4 b 5 XX KEEPTTL", "1"),
            ("TTL a", "100"),
            ("MSETEX 1 a 6", "1"),
            ("TTL a", "-1"),
            ("MGET a b", "['6' '5']"),
            ("MSETEX 0 a 1", "!ERR invalid numkeys value"),
            ("MSETEX x a 1", "!ERR invalid numkeys value"),
            ("MSETEX 9223372036854775807 a 1", "!ERR wrong number of key-value pairs"),
            ("MSETEX 2 a 1 b", "!ERR wrong number of key-value pairs"),
            ("MSETEX 1 a 1 NX XX", "!ERR syntax error"),
            ("MSETEX 1 a 1 EX 0", "!ERR invalid expire time in 'msetex' command"),
            ("MSETEX 1 a 1 KEEPTTL EX 1", "!ERR syntax error"),
            ("MSETEX 1 a", "!ERR wrong number of arguments for 'msetex' command"),
            ("MULTI", "OK"),
            ("MSETEX 2 a 8 a 9 PX 100", "QUEUED"),
            ("EXEC", "[1]"),
            ("GET a", "'9'"),
        ],
    );
}

#[test]
fn numbers_with_fractions() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("INCRBYFLOAT n 1", "'1'"),
            ("INCRBYFLOAT n 0.25", "'1.25'"),
            ("SET n 3.0e3 EX 100", "OK"),
            ("INCRBYFLOAT n 200", "'3200'"),
            ("TTL n", "100"),
            // The mantissa has 64 bits.
            ("INCRBYFLOAT n -1.1", "'3198.89999999999999991'"),
            ("SET n 17179869184", "OK"),
            ("INCRBYFLOAT n 1.5", "'17179869185.5'"),
            ("INCRBYFLOAT n x", "!ERR value is not a valid float"),
            ("INCRBYFLOAT n inf", "!ERR increment would produce NaN or Infinity"),
            ("SET n word", "OK"),
            ("INCRBYFLOAT n 1", "!ERR value is not a valid float"),
        ],
    );
}

#[test]
fn common_subsequences() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = vec![b'x'; 20_000];
    client.send(&[b"MSET", b"long", &long, b"longer", &long]);
    client.receive();
    dialogue(
        &mut client,
        &[
            ("MSET a ohmytext b mynewtext", "OK"),
            ("LCS a b", "'mytext'"),
            ("LCS a b LEN", "6"),
            ("LCS a b IDX", "['matches' [[[4 7] [5 8]] [[2 3] [0 1]]] 'len' 6]"),
            ("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN", "['matches' [[[4 7] [5 8] 4]] 'len' 6]"),
            ("LCS a nothing", "''"),
            ("LCS nothing b IDX", "['matches' [] 'len' 0]"),
            ("LCS a a len", "8"),
            ("LCS a b LEN IDX", "!ERR If you want both the length and indexes, please just use IDX."),
            ("LCS a b MINMATCHLEN", "!ERR syntax error"),
            ("LCS a long LEN", "1"),
            (
                "LCS long longer",
                "!ERR values of 20000 and 20000 bytes are too long for LCS: the first length, times the \
                 second rounded up to a multiple of 64, must not exceed 134217728",
            ),
        ],
    );
}
