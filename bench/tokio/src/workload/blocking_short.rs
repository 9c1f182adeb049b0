// SPDX-License-Identifier: MIT
//! blocking-short: system calls that return at once, each by block_in_place, Tokio's announcement that the code on this
//! worker may block (one worker: by spawn_blocking, as the current-thread runtime has nothing else).
use std::time::Instant;
use crate::common::*;

fn getpid() {
    unsafe { libc::syscall(libc::SYS_getpid) };
}

pub fn main() {
    let args = Args::new();
    let (procs, count) = (args.procs(), args.get("count", 100_000));
    run(procs, async move {
        let start = Instant::now();
        for _ in 0..count {
            getpid()
        }
        let plain = per(start, count);
        let switches = voluntary_switches();
        let start = Instant::now();
        for _ in 0..count {
            if procs == 1 {
                tokio::task::spawn_blocking(getpid).await.unwrap()
            } else {
                tokio::task::block_in_place(getpid)
            }
        }
        report("beyond_ns", per(start, count) - plain);
        report("switches", (voluntary_switches() - switches) * 1000.0 / count as f64);
    });
}
