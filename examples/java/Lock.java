// SPDX-License-Identifier: MIT

// One lock from Java, by JNA over the C ABI: java -cp jna.jar Lock.java
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.PointerByReference;

public class Lock {
    /** size_t is 64 bits where this runs; JNA passes a long as such. */
    public interface Interlock extends Library {
        Interlock C = Native.load("interlock", Interlock.class);

        int ilk_client_open(PointerByReference out, String url, Pointer opts, Failure err);
        void ilk_client_free(Pointer client);
        int ilk_lock_open(PointerByReference out, Pointer client, byte[] name, long nameLen,
                          Pointer opts, Failure err);
        int ilk_lock_acquire(Pointer lock, long timeoutMs, Failure err);
        long ilk_lock_fence(Pointer lock);
        int ilk_lock_release(Pointer lock, Failure err);
        void ilk_lock_free(Pointer lock);
    }

    @FieldOrder({"code", "msg"})
    public static class Failure extends Structure {
        public int code;
        public byte[] msg = new byte[252];

        void check(int status) {
            if (status != 0) {
                throw new IllegalStateException(Native.toString(msg) + " (" + code + ")");
            }
        }
    }

    public static void main(String[] args) {
        Interlock c = Interlock.C;
        Failure err = new Failure();
        PointerByReference client = new PointerByReference();
        PointerByReference lock = new PointerByReference();
        byte[] name = "orders".getBytes();

        err.check(c.ilk_client_open(client, null, null, err));
        err.check(c.ilk_lock_open(lock, client.getValue(), name, name.length, null, err));
        err.check(c.ilk_lock_acquire(lock.getValue(), 5000, err));
        System.out.println("fence " + c.ilk_lock_fence(lock.getValue()));
        err.check(c.ilk_lock_release(lock.getValue(), err));
        c.ilk_lock_free(lock.getValue());
        c.ilk_client_free(client.getValue());
    }
}
