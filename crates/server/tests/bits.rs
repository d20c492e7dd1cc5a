//! Commands on bits.
#![allow(missing_docs)]

mod common;

use common::{Client, dialogue, start};

#[test]
fn setbit_and_getbit() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SETBIT a 1 1", "0"),
            ("GET a", "'@'"),
            ("SETBIT a 1 0", "1"),
            ("SETBIT a 20 1", "0"),
            ("GET a", "'\\x00\\x00\\x08'"),
            ("GETBIT a 20", "1"),
            ("GETBIT a 21", "0"),
            ("GETBIT a 100000", "0"),
            ("GETBIT nothing 0", "0"),
            ("GETBIT a 4294967295", "0"),
            ("GETBIT a 4294967296", "!ERR bit offset is not an integer or out of range"),
            ("SETBIT a 134217728 1", "!ERR bit offset is not an integer or out of range"),
            ("EXPIRE a 100", "1"),
            ("SETBIT a 0 1", "0"),
            ("TTL a", "100"),
            ("SETBIT a 0 2", "!ERR bit is not an integer or out of range"),
            ("SETBIT a -1 0", "!ERR bit offset is not an integer or out of range"),
            ("SETBIT a 134217656 0", "!ERR bit offset is not an integer or out of range"),
            ("SETBIT a #1 0", "!ERR bit offset is not an integer or out of range"),
            ("GETBIT a x", "!ERR bit offset is not an integer or out of range"),
            ("STRLEN a", "3"),
        ],
    );
}

#[test]
fn bitcount() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SET a foobar", "OK"),
            ("BITCOUNT a", "26"),
            ("BITCOUNT a 0 0", "4"),
            ("BITCOUNT a 1 1", "6"),
            ("BITCOUNT a 0 -5", "10"),
            ("BITCOUNT a 5 30 BIT", "17"),
            ("BITCOUNT a 1 1 byte", "6"),
            ("BITCOUNT a -1 -3", "0"),
            ("BITCOUNT a 0 -100", "4"),
            ("BITCOUNT a 9 10", "0"),
            ("BITCOUNT nothing 0 -1", "0"),
            ("BITCOUNT nothing x 1", "!ERR value is not an integer or out of range"),
            ("BITCOUNT a 0", "!ERR syntax error"),
            ("BITCOUNT a 0 1 WORD", "!ERR syntax error"),
            ("BITCOUNT a 0 1 BIT x", "!ERR syntax error"),
        ],
    );
}

#[test]
fn bitpos() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send(&[b"MSET", b"a", b"\xff\xf0\x00", b"b", b"\xff\xff", b"c", b"\x00\x00", b"empty", b""]);
    client.receive();
    dialogue(
        &mut client,
        &[
            ("BITPOS a 0", "12"),
            ("BITPOS a 1", "0"),
            ("BITPOS a 1 2", "-1"),
            ("BITPOS a 0 0 0", "-1"),
            ("BITPOS a 1 7 -1 BIT", "7"),
            ("BITPOS a 0 8 15 BIT", "12"),
            ("BITPOS b 0", "16"),
            ("BITPOS b 0 0", "16"),
            ("BITPOS b 0 0 -1", "-1"),
            ("BITPOS b 0 5", "-1"),
            ("BITPOS c 1", "-1"),
            ("BITPOS nothing 0", "0"),
            ("BITPOS nothing 1", "-1"),
            ("BITPOS empty 0", "-1"),
            ("BITPOS a 2", "!ERR The bit argument must be 1 or 0."),
            ("BITPOS a x", "!ERR value is not an integer or out of range"),
            ("BITPOS a 1 0 1 WORD", "!ERR syntax error"),
            ("BITPOS a 1 0 1 BIT x", "!ERR syntax error"),
        ],
    );
}

#[test]
fn bitop() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send(&[b"MSET", b"a", b"\x0f\x01", b"b", b"\x3c"]);
    client.receive();
    dialogue(
        &mut client,
        &[
            ("SET to x EX 100", "OK"),
            ("BITOP AND to a b", "2"),
            ("GET to", "'\\x0c\\x00'"),
            ("TTL to", "-1"),
            ("BITOP or to a b", "2"),
            ("GET to", "'?\\x01'"),
            ("BITOP XOR to a b nothing", "2"),
            ("GET to", "'3\\x01'"),
            ("BITOP NOT to a", "2"),
            ("GET to", "'\\xf0\\xfe'"),
            ("BITOP DIFF to a b", "2"),
            ("GET to", "'\\x03\\x01'"),
            ("BITOP DIFF1 to a b", "2"),
            ("GET to", "'0\\x00'"),
            ("BITOP ANDOR to a b nothing", "2"),
            ("GET to", "'\\x0c\\x00'"),
            ("BITOP ONE to a b a", "2"),
            ("GET to", "'0\\x00'"),
            ("BITOP AND a a a", "2"),
            ("BITOP AND to nothing neither", "0"),
            ("EXISTS to", "0"),
            ("BITOP NOT to a b", "!ERR BITOP NOT must be called with a single source key."),
            ("BITOP DIFF to a", "!ERR BITOP DIFF must be called with at least two source keys."),
            ("BITOP NAND to a b", "!ERR syntax error"),
            ("BITOP AND to", "!ERR wrong number of arguments for 'bitop' command"),
        ],
    );
}

#[test]
fn bitfield() {
    let running = start();
    let invalid = "!ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but \
                   i64 is.";
    dialogue(
        &mut Client::connect(&running),
        &[
            ("BITFIELD a SET i8 0 -100 SET i8 #1 101 GET i8 0 GET u8 #1", "[0 0 -100 101]"),
            ("BITFIELD a INCRBY u8 0 10 INCRBY u8 0 100", "[166 10]"),
            (
                "BITFIELD a OVERFLOW SAT INCRBY u8 0 1000 OVERFLOW FAIL INCRBY u8 0 1 GET u8 0",
                "[255 nil 255]",
            ),
            ("BITFIELD a overflow sat set i8 0 500 incrby i8 0 -1000", "[-1 -128]"),
            ("BITFIELD a", "[]"),
            ("BITFIELD_RO a GET i8 0 GET u63 100", "[-128 0]"),
            ("BITFIELD_RO a GET u8 4294967295", "[0]"),
            ("BITFIELD a GET i8 0 GET u8 200000000", "[-128 0]"),
            ("BITFIELD a GET u8 4294967296", "!ERR bit offset is not an integer or out of range"),
            ("BITFIELD a SET u8 200000000 1", "!ERR bit offset is not an integer or out of range"),
            ("BITFIELD nothing GET u8 0", "[0]"),
            ("EXISTS nothing", "0"),
            ("BITFIELD grown OVERFLOW FAIL SET u1 100 2", "[nil]"),
            ("STRLEN grown", "13"),
            ("BITFIELD a SET u64 0 1", invalid),
            ("BITFIELD a GET i65 0", invalid),
            ("BITFIELD a GET u08 0", invalid),
            ("BITFIELD a GET u8 -1", "!ERR bit offset is not an integer or out of range"),
            ("BITFIELD a GET u8 #9223372036854775807", "!ERR bit offset is not an integer or out of range"),
            ("BITFIELD a SET i64 134217655 1", "!ERR string exceeds maximum allowed size (16777207 bytes)"),
            ("BITFIELD a SET u8 0", "!ERR syntax error"),
            ("BITFIELD a PUT u8 0 1", "!ERR syntax error"),
            ("BITFIELD a OVERFLOW MORE", "!ERR Invalid OVERFLOW type specified"),
            ("BITFIELD_RO a GET u8 0 SET u8 0 1", "!ERR BITFIELD_RO only supports the GET subcommand"),
        ],
    );
}
