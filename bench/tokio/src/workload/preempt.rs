// SPDX-License-Identifier: MIT
//! preempt: as many tasks as workers compute without ever awaiting; another wakes every millisecond. Ticks are due at
//! fixed times: one that is missed while nobody lets the ticker run counts with its full lateness. Tokio does not
//! preempt: the row shows what that means, it is not a use that Tokio recommends.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (procs, ms) = (args.procs(), args.get("ms", 3000));
    let stop = Arc::new(AtomicBool::new(false));
    let end = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(ms as u64));
        end.store(true, Relaxed);
    });
    run(procs, async move {
        for _ in 0..procs {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut x = 1u64;
                while !stop.load(Relaxed) {
                    x = x.wrapping_mul(6364136223846793005).wrapping_add(1)
                }
                keep(x)
            });
        }
        let mut late = Vec::with_capacity(ms);
        let mut due = Instant::now();
        for _ in 0..ms {
            due += Duration::from_millis(1);
            tokio::time::sleep_until(due.into()).await;
            late.push(due.elapsed().as_nanos() as f64 / 1e6);
        }
        report("late_p50_ms", percentile(late.clone(), 0.5));
        report("late_p99_ms", percentile(late, 0.99));
    });
}
