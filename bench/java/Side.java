// SPDX-License-Identifier: MIT
// Redisson's sides: Side lock|semaphore|permits URL [LIMIT]; ../README.md has
// the lines it hears. A semaphore's permits have no lease, those of `permits`
// (RPermitExpirableSemaphore) do.

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Side {
    private static final int LEASE_MS = 30000;

    private interface Pair {
        void acquire() throws InterruptedException;

        void release();
    }

    private interface Body {
        void run(int number) throws InterruptedException;
    }

    private final BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in));
    private final RedissonClient client;
    private final String kind;
    private final int limit;

    private Side(String kind, String url, int limit) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        this.client = Redisson.create(config);
        this.kind = kind;
        this.limit = limit;
    }

    // With a lease of 0 a lock is renewed by Redisson's watchdog.
    private Pair open(String name, long lease) {
        if (kind.equals("semaphore")) {
            RSemaphore permits = client.getSemaphore(name);
            permits.trySetPermits(limit);
            return pair(permits::acquire, permits::release);
        }
        if (kind.equals("permits")) {
            RPermitExpirableSemaphore permits =
                client.getPermitExpirableSemaphore(name);
            permits.trySetPermits(limit);
            String[] held = new String[1];
            return pair(
                () -> held[0] = permits.acquire(LEASE_MS, TimeUnit.MILLISECONDS),
                () -> permits.release(held[0]));
        }
        RLock lock = client.getLock(name);
        if (lease > 0) {
            return pair(() -> lock.lock(lease, TimeUnit.MILLISECONDS),
                        lock::unlock);
        }
        return pair(lock::lock, lock::unlock);
    }

    private interface Taking {
        void run() throws InterruptedException;
    }

    private static Pair pair(Taking take, Runnable giveBack) {
        return new Pair() {
            public void acquire() throws InterruptedException {
                take.run();
            }

            public void release() {
                giveBack.run();
            }
        };
    }

    private static void inThreads(int count, Body body)
        throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = new Thread(null, () -> {
                try {
                    body.run(number);
                } catch (Exception e) {
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            }, "waiter", 256 * 1024);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static long cpuNs() {
        return ((OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long nsOf(String seconds) {
        return Math.round(Double.parseDouble(seconds) * 1e9);
    }

    /** Times as they come. */
    private static final class Diary {
        private long[] times = new long[64];
        private int count;

        void note(long when) {
            if (count == times.length) {
                times = Arrays.copyOf(times, 2 * count);
            }
            times[count++] = when;
        }

        long[] all() {
            return Arrays.copyOf(times, count);
        }
    }

    private static Diary[] diaries(int count) {
        Diary[] all = new Diary[count];
        Arrays.setAll(all, i -> new Diary());
        return all;
    }

    private String pairs(String name, int threads, long spanNs)
        throws InterruptedException {
        Diary[] times = diaries(threads);
        inThreads(threads, i -> { // connects, and loads scripts
            Pair it = open(name + "-" + i, 0);
            it.acquire();
            it.release();
        });
        long cpu = cpuNs();
        long began = System.nanoTime();
        inThreads(threads, i -> {
            Pair it = open(name + "-" + i, 0);
            long asked = System.nanoTime();
            while (times[i].count == 0 || asked - began < spanNs) {
                it.acquire();
                it.release();
                long ended = System.nanoTime();
                times[i].note(ended - asked);
                asked = ended;
            }
        });
        double took = System.nanoTime() - began;
        cpu = cpuNs() - cpu;
        long[] all = Arrays.stream(times)
            .flatMapToLong(own -> Arrays.stream(own.all())).sorted().toArray();
        return String.format(
            "{\"pairs\": %d, \"per_s\": %.1f, \"p50_us\": %.2f,"
            + " \"p99_us\": %.2f, \"cpu_us\": %.3f}",
            all.length, all.length / took * 1e9, all[all.length / 2] / 1e3,
            all[(int) ((all.length - 1) * 0.99)] / 1e3,
            cpu / 1e3 / all.length);
    }

    private String crowd(String name, int waiters, long holdUs)
        throws InterruptedException, IOException {
        Diary[] logs = diaries(waiters);
        System.out.println("\"standing\"");
        String[] go = lines.readLine().split(" ");
        long starts = nsOf(go[1]);
        long ends = nsOf(go[2]);
        inThreads(waiters, i -> {
            Pair it = open(name, 0);
            TimeUnit.NANOSECONDS.sleep(starts - System.nanoTime());
            while (logs[i].count == 0 || System.nanoTime() < ends) {
                logs[i].note(System.nanoTime() - starts);
                it.acquire();
                logs[i].note(System.nanoTime() - starts);
                TimeUnit.MICROSECONDS.sleep(holdUs);
                it.release();
            }
        });
        return Arrays.toString(
            Arrays.stream(logs).map(own -> Arrays.toString(own.all())).toArray());
    }

    private String next(String name, long ttl) throws InterruptedException {
        Pair it = open(name, ttl);
        System.out.println("\"waiting\"");
        it.acquire();
        long entered = System.nanoTime();
        it.release();
        return Long.toString(entered);
    }

    private String hear(String[] words)
        throws InterruptedException, IOException {
        String name = words[1];
        switch (words[0]) {
        case "pairs":
            return pairs(name, Integer.parseInt(words[2]), nsOf(words[3]));
        case "crowd":
            return crowd(name, Integer.parseInt(words[2]),
                         Long.parseLong(words[3]));
        case "hold":
            open(name, Long.parseLong(words[2])).acquire();
            return "\"held\"";
        case "next":
            return next(name, Long.parseLong(words[2]));
        default:
            throw new IllegalArgumentException("unknown verb " + words[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        int limit = args.length > 2 ? Integer.parseInt(args[2]) : 0;
        Side side = new Side(args[0], args[1], limit);
        System.out.println("\"ready\"");
        for (String line = side.lines.readLine(); line != null;
             line = side.lines.readLine()) {
            System.out.println(side.hear(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }
}
