//! Compatibility with the Redis client of the crate `redis`.
#![allow(missing_docs)]

mod common;

use redis::Commands;

#[test]
fn common_operations_of_the_client_work() -> redis::RedisResult<()> {
    let running = common::start();
    for protocol in ["resp2", "resp3"] {
        let url = format!("redis://{}/1?protocol={protocol}", running.server.address());
        let mut client = redis::Client::open(url)?.get_connection()?;
        redis::cmd("FLUSHALL").exec(&mut client)?;
        client.set::<_, _, ()>("a", 1)?;
        assert_eq!(client.get::<_, i64>("a")?, 1);
        client.mset::<_, _, ()>(&[("b", "2"), ("c", "3")])?;
        assert_eq!(client.mget::<_, Vec<Option<i64>>>(&["a", "b", "x"])?, [Some(1), Some(2), None]);
        assert!(client.expire::<_, bool>("b", 100)?);
        assert!((99..=100).contains(&client.ttl::<_, i64>("b")?));
        let both: (i64, i64) = redis::pipe().atomic().incr("a", 41).incr("c", 1).query(&mut client)?;
        assert_eq!(both, (42, 4));
        let keys: redis::RedisResult<Vec<String>> = client.scan()?.collect();
        assert_eq!(keys?, ["a", "b", "c"]);
        let mut range = |line: &str| -> redis::RedisResult<Vec<String>> {
            let mut words = line.split(' ');
            redis::cmd(words.next().unwrap_or_default()).arg(words.collect::<Vec<_>>()).query(&mut client)
        };
        assert_eq!(range("RI.RANGE [a (c FIELDS BOTH")?, ["a", "42", "b", "2"]);
        assert_eq!(range("RI.SCAN bb FLOOR COUNT 1 FIELDS KEY")?, ["b"]);
        assert_eq!(redis::cmd("RI.COUNT").arg("-").arg("+").query::<i64>(&mut client)?, 3);
        let error = client.incr::<_, _, i64>("a", "x").unwrap_err();
        assert_eq!(error.code(), Some("ERR"));
    }
    Ok(())
}
