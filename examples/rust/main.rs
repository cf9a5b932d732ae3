// SPDX-License-Identifier: MIT

//! One lock from Rust, over the C ABI: rustc main.rs -L <where the library is>

use std::ffi::{c_char, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Error {
    code: i32,
    msg: [c_char; 252],
}

#[link(name = "interlock")]
extern "C" {
    fn ilk_client_open(
        out: *mut *mut c_void,
        url: *const c_char,
        opts: *const c_void,
        err: *mut Error,
    ) -> i32;
    fn ilk_client_free(client: *mut c_void);
    fn ilk_lock_open(
        out: *mut *mut c_void,
        client: *mut c_void,
        name: *const u8,
        name_len: usize,
        opts: *const c_void,
        err: *mut Error,
    ) -> i32;
    fn ilk_lock_acquire(lock: *mut c_void, timeout_ms: i64, err: *mut Error) -> i32;
    fn ilk_lock_fence(lock: *const c_void) -> i64;
    fn ilk_lock_release(lock: *mut c_void, err: *mut Error) -> i32;
    fn ilk_lock_free(lock: *mut c_void);
}

fn check(status: i32, err: &Error) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(err.msg.as_ptr()) };
    Err(format!("{} ({})", text.to_string_lossy(), err.code))
}

fn main() -> Result<(), String> {
    let name = b"orders";
    let mut err = Error {
        code: 0,
        msg: [0; 252],
    };
    let mut client = null_mut();
    let mut lock = null_mut();
    unsafe {
        check(ilk_client_open(&mut client, null(), null(), &mut err), &err)?;
        let opened = ilk_lock_open(
            &mut lock,
            client,
            name.as_ptr(),
            name.len(),
            null(),
            &mut err,
        );
        check(opened, &err)?;
        check(ilk_lock_acquire(lock, 5000, &mut err), &err)?;
        println!("fence {}", ilk_lock_fence(lock));
        check(ilk_lock_release(lock, &mut err), &err)?;
        ilk_lock_free(lock);
        ilk_client_free(client);
    }
    Ok(())
}
