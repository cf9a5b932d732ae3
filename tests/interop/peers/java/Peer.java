// SPDX-License-Identifier: MIT
// Redisson's RLock behind the line protocol of ../../peers.py.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Peer {
    private final RedissonClient client;
    private RLock lock;

    private Peer(RedissonClient client) {
        this.client = client;
    }

    // A lease of 0 leaves the renewal to Redisson's watchdog.
    private String acquire(String[] words) throws InterruptedException {
        long ttl = Long.parseLong(words[2]);
        long wait = words.length > 3 ? Long.parseLong(words[3]) : 0;
        lock = client.getLock(words[1]);
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
        Config config = new Config();
        config.useSingleServer().setAddress(args[0])
            .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        Peer peer = new Peer(Redisson.create(config));
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
