// SPDX-License-Identifier: MIT
// Curator's InterProcessMutex behind the line protocol of ../../peers.py. The lease
// of a hold is the session, so the TTL of each line is ignored. Also:
//
//     read NAME TTL_MS WAIT_MS    a read lock, instead of acquire
//     write NAME TTL_MS WAIT_MS

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

public class Peer {
    private static final int SESSION_MS = 10000;

    private final CuratorFramework client;
    private InterProcessLock lock;

    private Peer(String hosts) {
        client = CuratorFrameworkFactory.newClient(
            hosts, SESSION_MS, SESSION_MS, new RetryOneTime(1000));
        client.start();
    }

    private String acquire(InterProcessLock mutex, String[] words) throws Exception {
        long wait = words.length > 3 ? Long.parseLong(words[3]) : 0;
        lock = mutex;
        return lock.acquire(wait, TimeUnit.MILLISECONDS) ? "ok" : "busy";
    }

    private String release() throws Exception {
        try {
            lock.release();
            return "ok";
        } catch (IllegalMonitorStateException e) {
            return "lost";
        }
    }

    private String answer(String line) {
        String[] words = line.split(" ");
        String path = words.length > 1 ? "/" + words[1] : "";
        try {
            switch (words[0]) {
            case "acquire":
                return acquire(new InterProcessMutex(client, path), words);
            case "read":
                return acquire(
                    new InterProcessReadWriteLock(client, path).readLock(), words);
            case "write":
                return acquire(
                    new InterProcessReadWriteLock(client, path).writeLock(), words);
            case "release":
                return release();
            default:
                return "error unknown verb " + words[0];
            }
        } catch (Exception e) {
            return "error " + String.valueOf(e).replace('\n', ' ');
        }
    }

    public static void main(String[] args) throws IOException {
        Peer peer = new Peer(args[0]);
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
