// SPDX-License-Identifier: MIT

// One lock from Go, by cgo over the C ABI.
package main

/*
#cgo pkg-config: interlock
#include <interlock.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

// check ends the program with the library's own words.
func check(status C.ilk_status, err *C.ilk_error) {
	if status != C.ILK_OK {
		name := C.GoString(C.ilk_status_name(C.int32_t(status)))
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, C.GoString(&err.msg[0]))
		os.Exit(1)
	}
}

func main() {
	var err C.ilk_error
	var client *C.ilk_client
	var lock *C.ilk_lock
	name := C.CString("orders")
	defer C.free(unsafe.Pointer(name))

	check(C.ilk_client_open(&client, nil, nil, &err), &err)
	defer C.ilk_client_free(client)
	check(C.ilk_lock_open(&lock, client, unsafe.Pointer(name), 6, nil, &err),
		&err)
	defer C.ilk_lock_free(lock)

	// The runtime's own signals may end a wait; it is taken up again.
	status := C.ilk_lock_acquire(lock, 5000, &err)
	for status == C.ILK_EINTR {
		status = C.ilk_lock_acquire(lock, 5000, &err)
	}
	check(status, &err)
	fmt.Println("fence", C.ilk_lock_fence(lock))
	check(C.ilk_lock_release(lock, &err), &err)
}
