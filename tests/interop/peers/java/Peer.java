// SPDX-License-Identifier: MIT
// Redisson's RLock behind the line protocol of ../../peers.py, and its RedLock where
// there are several servers.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Peer {
    private final RedissonClient[] clients;
    private RLock lock;

    private Peer(String[] urls) {
        clients = Stream.of(urls).map(Peer::connect).toArray(RedissonClient[]::new);
    }

    private static RedissonClient connect(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url)
            .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        return Redisson.create(config);
    }

    private RLock lockOf(String name) {
        RLock[] locks = Stream.of(clients).map(one -> one.getLock(name))
            .toArray(RLock[]::new);
        return locks.length == 1 ? locks[0] : new RedissonRedLock(locks);
    }

    // A lease of 0 leaves the renewal to Redisson's watchdog. RedLock ends a wait of
    // 0 after its first server, and one of -1 when each server was tried once.
    private String acquire(String[] words) throws InterruptedException {
        long ttl = Long.parseLong(words[2]);
        long wait = words.length > 3 ? Long.parseLong(words[3]) : 0;
        if (wait == 0 && clients.length > 1) {
            wait = -1;
        }
        lock = lockOf(words[1]);
        return lock.tryLock(wait, ttl == 0 ? -1 : ttl, TimeUnit.MILLISECONDS)
            ? "ok" : "busy";
    }

    private String release() {
        try {
            lock.unlock();
            return "ok";
        } catch (IllegalMonitorStateException e) {
            return "lost";
        }
    }

    private String answer(String line) {
        String[] words = line.split(" ");
        try {
            switch (words[0]) {
            case "acquire":
                return acquire(words);
            case "release":
                return release();
            case "count":
                return "count " + lock.getHoldCount();
            default:
                return "error unknown verb " + words[0];
            }
        } catch (Exception e) {
            return "error " + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
    }

    public static void main(String[] args) throws IOException {
        Peer peer = new Peer(args);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null;
             line = lines.readLine()) {
            System.out.println(peer.answer(line));
        }
        System.exit(0);
    }
}
