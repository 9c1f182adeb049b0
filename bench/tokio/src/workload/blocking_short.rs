// SPDX-License-Identifier: MIT
//! blocking-short: system calls that return at once, each by block_in_place, Tokio's announcement that the code on this
//! worker may block (one worker: by spawn_blocking, as the current-thread runtime has nothing else).
use std::time::{Duration, Instant};
use crate::common::*;

fn getpid() {
    unsafe { libc::syscall(libc::SYS_getpid) };
}

pub fn main() {
    let args = Args::new();
    let (procs, count) = (args.procs(), args.get("count", 100_000));
    run(procs, async move {
        // Ten batches of each kind in turn, the fastest of each counts: a difference of two times is easily drowned in noise.
        let batch = count / 10;
        let (mut plain, mut announced, mut sleeps) = (Duration::MAX, Duration::MAX, 0.0);
        for _ in 0..10 {
            let start = Instant::now();
            for _ in 0..batch {
                getpid()
            }
            plain = plain.min(start.elapsed());
            let before = voluntary_switches();
            let start = Instant::now();
            for _ in 0..batch {
                if procs == 1 {
                    tokio::task::spawn_blocking(getpid).await.unwrap()
                } else {
                    tokio::task::block_in_place(getpid)
                }
            }
            announced = announced.min(start.elapsed());
            sleeps += voluntary_switches() - before;
        }
        report("beyond_ns", (announced.as_nanos() as f64 - plain.as_nanos() as f64) / batch as f64);
        report("switches", sleeps * 1000.0 / count as f64);
    });
}
