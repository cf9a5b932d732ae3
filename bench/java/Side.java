// SPDX-License-Identifier: MIT
// A side's conversation, the same for all peers in Java: ../README.md has the lines that
// it reads. A peer's own class says how it opens a lock.

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

public class Side {
    /** One thread's lock. */
    interface Pair {
        void acquire() throws Exception;

        void release() throws Exception;
    }

    interface Opener {
        /** With a lease of 0 ms the peer's own. */
        Pair open(String name, long lease);
    }

    private interface Body {
        void run(int number) throws Exception;
    }

    private final BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in));
    private final Opener opener;

    private Side(Opener opener) {
        this.opener = opener;
    }

    private Pair open(String name, long lease) {
        return opener.open(name, lease);
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

    private String next(String name, long ttl) throws Exception {
        Pair it = open(name, ttl);
        System.out.println("\"waiting\"");
        it.acquire();
        long entered = System.nanoTime();
        it.release();
        return Long.toString(entered);
    }

    private String hear(String[] words) throws Exception {
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

    static void serve(Opener opener) throws Exception {
        Side side = new Side(opener);
        System.out.println("\"ready\"");
        for (String line = side.lines.readLine(); line != null;
             line = side.lines.readLine()) {
            System.out.println(side.hear(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }
}
