// SPDX-License-Identifier: MIT
// Curator's side: CuratorSide lock HOST:PORT/CHROOT. A lease is its session.

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class CuratorSide {
    private static final int SESSION_MS = 30000;

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            args[1], SESSION_MS, SESSION_MS, new RetryOneTime(1000));
        client.start();
        Side.serve((name, lease) -> {
            InterProcessMutex mutex = new InterProcessMutex(client, "/" + name);
            return new Side.Pair() {
                public void acquire() throws Exception {
                    mutex.acquire();
                }

                public void release() throws Exception {
                    mutex.release();
                }
            };
        });
    }
}
