import java.io.Serializable;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.StreamSupport;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.api.options.KeysScanOptions;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * Tests buckets, numbers and keys of Redisson with a server, whose port and password are the arguments. The test omits
 * operations that are scripts in Redisson (getAndDelete, compareAndSet and expire of a bucket, locks), and maps, lists,
 * sets and topics.
 */
final class Bucket {
    /** A value in the default encoding of Redisson. */
    record Bee(String name, List<Integer> visits) implements Serializable {}

    public static void main(String[] arguments) throws Exception {
        var config = new Config();
        if (arguments.length > 1) {
            config.setPassword(arguments[1]);
        }
        config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]).setDatabase(2);
        RedissonClient redisson = Redisson.create(config);
        try {
            redisson.getKeys().flushdb();
            values(redisson);
            expiry(redisson);
            many(redisson);
            numbers(redisson);
            keys(redisson);
        } finally {
            redisson.shutdown();
        }
    }

    private static void values(RedissonClient redisson) {
        RBucket<Bee> bucket = redisson.getBucket("bee");
        var maja = new Bee("Maja", List.of(1, 2));
        bucket.set(maja);
        Check.expect("get", bucket.get(), maja);
        Check.expect("exists", bucket.isExists(), true);
        Check.expect("setIfAbsent", bucket.setIfAbsent(new Bee("Willi", List.of())), false);
        Check.expect("setIfExists", bucket.setIfExists(new Bee("Willi", List.of())), true);
        Check.expect("getAndSet", bucket.getAndSet(maja).name(), "Willi");
        Check.expect("size", bucket.size() > 4, true);
        Check.expect("get of what getAndSet left", bucket.get(), maja);
        Check.expect("delete", bucket.delete(), true);
        Check.expect("get of nothing", bucket.get(), null);
        Check.expect("delete of nothing", bucket.delete(), false);
        RBucket<String> text = redisson.getBucket("text", StringCodec.INSTANCE);
        Check.expect("setIfAbsent of nothing", text.setIfAbsent("1", Duration.ofMinutes(1)), true);
        Check.expect("text", text.get(), "1");
        text.rename("renamed");
        Check.expect("renamed", redisson.getBucket("renamed", StringCodec.INSTANCE).get(), "1");
        Check.expect("delete", text.delete(), true);
    }

    private static void expiry(RedissonClient redisson) throws Exception {
        RBucket<String> bucket = redisson.getBucket("short");
        bucket.set("1", Duration.ofMillis(1001));
        Check.expect("in time", bucket.get(), "1");
        RBucket<String> other = redisson.getBucket("other");
        other.set("1");
        Check.expect("for ever", other.remainTimeToLive(), -1L);
        Check.expect("expire", redisson.getKeys().expire(Duration.ofMinutes(1), "other"), 1L);
        Check.expect("a minute", other.remainTimeToLive() > 58_000, true);
        Check.expect("clearExpire", other.clearExpire(), true);
        Check.expect("getAndExpire", other.getAndExpire(Duration.ofMinutes(1)), "1");
        Check.expect("getAndClearExpire", other.getAndClearExpire(), "1");
        other.setAndKeepTTL("2");
        Check.expect("still for ever", other.remainTimeToLive(), -1L);
        Thread.sleep(1200);
        Check.expect("too late", bucket.get(), null);
    }

    private static void many(RedissonClient redisson) {
        Map<String, String> pairs = new HashMap<>();
        for (int number = 0; number < 200; number++) {
            pairs.put("many:" + number, "value " + number);
        }
        redisson.getBuckets().set(pairs);
        Check.expect("get of many", redisson.getBuckets().get(pairs.keySet().toArray(new String[0])), pairs);
        Check.expect("trySet", redisson.getBuckets().trySet(Map.of("many:0", "x", "many:new", "x")), false);
        var batch = redisson.createBatch();
        pairs.keySet().forEach(name -> batch.getBucket(name).getAsync());
        Check.expect("a batch", new HashSet<>(batch.execute().getResponses()), new HashSet<>(pairs.values()));
    }

    private static void numbers(RedissonClient redisson) {
        var whole = redisson.getAtomicLong("whole");
        Check.expect("increment", whole.incrementAndGet(), 1L);
        Check.expect("add", whole.addAndGet(41), 42L);
        Check.expect("get then add", whole.getAndAdd(8), 42L);
        Check.expect("get", whole.get(), 50L);
        var real = redisson.getAtomicDouble("real");
        Check.expect("add", real.addAndGet(2.5), 2.5);
        Check.expect("get", real.get(), 2.5);
        var bits = redisson.getBitSet("bits");
        Check.expect("set", bits.set(9), false);
        Check.expect("cardinality", bits.cardinality(), 1L);
        Check.expect("bits", List.of(bits.get(9), bits.get(8)), List.of(true, false));
    }

    private static void keys(RedissonClient redisson) {
        var keys = redisson.getKeys();
        var options = KeysScanOptions.defaults().pattern("many:1?");
        Set<String> found = new HashSet<>();
        StreamSupport.stream(keys.getKeys(options).spliterator(), false).forEach(found::add);
        Check.expect("keys", found.size(), 10);
        Check.expect("count", keys.count() > 200, true);
        Check.expect("countExists", keys.countExists("many:1", "whole", "x"), 2L);
        Check.expect("delete", keys.delete("many:1", "x"), 1L);
        Check.expect("randomKey", keys.randomKey() != null, true);
        keys.flushdb();
        Check.expect("flushdb", keys.count(), 0L);
    }
}
