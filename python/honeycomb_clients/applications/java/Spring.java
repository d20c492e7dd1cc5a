import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.springframework.cache.Cache;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.cache.BatchStrategies;
import org.springframework.data.redis.cache.BatchStrategy;
import org.springframework.data.redis.cache.RedisCacheConfiguration;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.data.redis.cache.RedisCacheWriter;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ValueOperations;

/**
 * Tests Spring Data Redis with Lettuce and a server, whose port and password are the arguments: its operations on values
 * and keys, and its cache. The test omits scripts, hashes, lists, sets, sorted sets, streams, publish and subscribe.
 */
final class Spring {
    public static void main(String[] arguments) throws Exception {
        var place = new RedisStandaloneConfiguration("127.0.0.1", Integer.parseInt(arguments[0]));
        if (arguments.length > 1) {
            place.setPassword(arguments[1]);
        }
        var factory = new LettuceConnectionFactory(place);
        factory.afterPropertiesSet();
        factory.start();
        var template = new StringRedisTemplate(factory);
        values(template, template.opsForValue());
        expiry(template, template.opsForValue());
        keys(template, template.opsForValue());
        transactions(template);
        cache(factory, BatchStrategies.keys());
        cache(factory, BatchStrategies.scan(100));
        factory.destroy();
    }

    private static void values(StringRedisTemplate template, ValueOperations<String, String> values) {
        values.set("a", "1");
        Check.expect("get", values.get("a"), "1");
        Check.expect("get of nothing", values.get("x"), null);
        Check.expect("setIfAbsent", values.setIfAbsent("a", "2", Duration.ofSeconds(9)), false);
        Check.expect("setIfPresent", values.setIfPresent("a", "2"), true);
        Check.expect("getAndSet", values.getAndSet("a", "3"), "2");
        Check.expect("increment", values.increment("a"), 4L);
        Check.expect("by", values.increment("a", 40), 44L);
        Check.expect("decrement", values.decrement("a", 2), 42L);
        Check.expect("by a float", values.increment("a", 0.5), 42.5);
        values.multiSet(Map.of("b", "2", "c", "3"));
        Check.expect("multiGet", values.multiGet(List.of("b", "x", "c")), Arrays.asList("2", null, "3"));
        Check.expect("multiSetIfAbsent", values.multiSetIfAbsent(Map.of("c", "4", "d", "4")), false);
        Check.expect("append", values.append("b", "xyz"), 4);
        Check.expect("size", values.size("b"), 4L);
        values.set("b", "--", 1);
        Check.expect("get of a range", values.get("b", 0, 2), "2--");
        Check.expect("setBit", values.setBit("bits", 7, true), false);
        Check.expect("getBit", values.getBit("bits", 7), true);
        Check.expect("getAndDelete", values.getAndDelete("b"), "2--z");
        Check.expect("hasKey", template.hasKey("b"), false);
        Check.expectError("not an integer", () -> values.increment("a"));
    }

    private static void expiry(StringRedisTemplate template, ValueOperations<String, String> values) throws Exception {
        values.set("hour", "1", Duration.ofHours(1));
        values.set("short", "1", Duration.ofMillis(1001));
        values.set("minute", "1", Duration.ofMillis(60_001));
        Check.expect("an hour", template.getExpire("hour", TimeUnit.MINUTES) >= 59, true);
        Check.expect("a minute", template.getExpire("minute", TimeUnit.MILLISECONDS) > 58_000, true);
        Check.expect("expire", template.expire("hour", Duration.ofMinutes(2)), true);
        Check.expect("two minutes", template.getExpire("hour") <= 120, true);
        Check.expect("getAndExpire", values.getAndExpire("minute", Duration.ofSeconds(1)), "1");
        Check.expect("getAndPersist", values.getAndPersist("hour"), "1");
        Check.expect("for ever", template.getExpire("hour"), -1L);
        Check.expect("in time", template.countExistingKeys(List.of("hour", "short", "minute")), 3L);
        Thread.sleep(1200);
        Check.expect("too late", template.countExistingKeys(List.of("hour", "short", "minute")), 1L);
        Check.expect("expire of nothing", template.expire("short", Duration.ofSeconds(9)), false);
    }

    private static void keys(StringRedisTemplate template, ValueOperations<String, String> values) {
        Set<String> names = new HashSet<>();
        for (int number = 0; number < 500; number++) {
            names.add("key:" + number);
            values.set("key:" + number, "x");
        }
        Check.expect("keys", template.keys("key:*"), names);
        Set<String> found = new HashSet<>();
        try (Cursor<String> cursor = template.scan(ScanOptions.scanOptions().match("key:*").count(50).build())) {
            cursor.forEachRemaining(found::add);
        }
        Check.expect("scan", found, names);
        template.rename("key:0", "key:new");
        Check.expect("renameIfAbsent", template.renameIfAbsent("key:1", "key:new"), false);
        Check.expect("copy", template.copy("key:new", "key:copy", false), true);
        Check.expect("type", template.type("key:copy").code(), "string");
        Check.expect("randomKey", template.randomKey() != null, true);
        Check.expect("unlink", template.unlink(List.of("key:copy", "key:0")), 1L);
        byte[] dump = template.dump("key:new");
        template.execute((RedisCallback<Object>) connection -> {
            connection.keyCommands().restore("key:restored".getBytes(), 0, dump);
            return null;
        });
        Check.expect("restore", values.get("key:restored"), "x");
        Check.expect("delete", template.delete(names), 499L);
    }

    private static void transactions(StringRedisTemplate template) {
        List<Object> replies = template.execute(new SessionCallback<List<Object>>() {
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> List<Object> execute(RedisOperations<K, V> operations) throws DataAccessException {
                var texts = (RedisOperations<String, String>) operations;
                texts.watch("n");
                texts.multi();
                texts.opsForValue().set("n", "1", Duration.ofMinutes(1));
                texts.opsForValue().increment("n", 41);
                texts.opsForValue().get("n");
                return texts.exec();
            }
        });
        Check.expect("exec", replies, List.of(true, 42L, "42"));
        List<Object> pipelined = template.executePipelined(new SessionCallback<Object>() {
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> Object execute(RedisOperations<K, V> operations) throws DataAccessException {
                for (int number = 0; number < 100; number++) {
                    ((RedisOperations<String, String>) operations).opsForValue().increment("n");
                }
                return null;
            }
        });
        Check.expect("pipelined", pipelined.get(99), 142L);
    }

    private static void cache(LettuceConnectionFactory factory, BatchStrategy how) throws Exception {
        // Waits for the reply to a write before the next step. By default Spring does not wait.
        var writer = RedisCacheWriter.create(factory, to -> to.batchStrategy(how).immediateWrites().enableLocking());
        var lifetime = RedisCacheConfiguration.defaultCacheConfig().entryTtl(Duration.ofSeconds(1));
        var manager = RedisCacheManager.builder(writer)
                .cacheDefaults(RedisCacheConfiguration.defaultCacheConfig().entryTtl(Duration.ofMinutes(1)))
                .withCacheConfiguration("short", lifetime)
                .build();
        manager.afterPropertiesSet();
        Cache cache = manager.getCache("bees");
        cache.put("a", new ArrayList<>(List.of(1, 2)));
        Check.expect("get", cache.get("a", List.class), List.of(1, 2));
        Check.expect("get of nothing", cache.get("x"), null);
        Check.expect("get or make", cache.get("b", () -> "made"), "made");
        Check.expect("made once", cache.get("b", () -> "again"), "made");
        Check.expect("putIfAbsent", cache.putIfAbsent("b", "other").get(), "made");
        Check.expect("null", cache.get("nothing", () -> null), null);
        Check.expect("null is kept", cache.get("nothing") != null, true);
        Check.expect("evict", cache.evictIfPresent("a"), true);
        manager.getCache("short").put("a", "1");
        Check.expect("in time", manager.getCache("short").get("a", String.class), "1");
        cache.clear();
        Check.expect("clear", cache.get("b"), null);
        Thread.sleep(1200);
        Check.expect("too late", manager.getCache("short").get("a"), null);
    }
}
