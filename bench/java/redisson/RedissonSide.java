// SPDX-License-Identifier: MIT
// Redisson's sides: RedissonSide lock|semaphore|permits URL [LIMIT]. A semaphore's
// permits have no lease, those of `permits` (RPermitExpirableSemaphore) do.

import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class RedissonSide {
    private static final int LEASE_MS = 30000;

    private interface Call {
        void run() throws Exception;
    }

    private static Side.Pair pair(Call acquire, Call release) {
        return new Side.Pair() {
            public void acquire() throws Exception {
                acquire.run();
            }

            public void release() throws Exception {
                release.run();
            }
        };
    }

    private static Side.Pair semaphore(RSemaphore permits, int limit) {
        permits.trySetPermits(limit);
        return pair(permits::acquire, permits::release);
    }

    private static Side.Pair expirable(RPermitExpirableSemaphore permits,
                                       int limit) {
        permits.trySetPermits(limit);
        String[] held = new String[1];
        return pair(
            () -> held[0] = permits.acquire(LEASE_MS, TimeUnit.MILLISECONDS),
            () -> permits.release(held[0]));
    }

    // With a lease of 0 a lock is renewed by Redisson's watchdog.
    private static Side.Pair lock(RLock lock, long lease) {
        if (lease > 0) {
            return pair(() -> lock.lock(lease, TimeUnit.MILLISECONDS),
                        lock::unlock);
        }
        return pair(lock::lock, lock::unlock);
    }

    private static Side.Opener opener(RedissonClient client, String kind,
                                      int limit) {
        switch (kind) {
        case "semaphore":
            return (name, lease) -> semaphore(client.getSemaphore(name), limit);
        case "permits":
            return (name, lease) ->
                expirable(client.getPermitExpirableSemaphore(name), limit);
        default:
            return (name, lease) -> lock(client.getLock(name), lease);
        }
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(args[1]);
        int limit = args.length > 2 ? Integer.parseInt(args[2]) : 0;
        Side.serve(opener(Redisson.create(config), args[0], limit));
    }
}
