// SPDX-License-Identifier: MIT
//! tick: one task wakes every millisecond; CPU time and lateness.
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let ticks = args.get("ms", 3000);
    run(args.procs(), async move {
        let mut late = Vec::with_capacity(ticks);
        let (cpu_before, start) = (cpu(), Instant::now());
        let mut due = start;
        for _ in 0..ticks {
            due += Duration::from_millis(1);
            tokio::time::sleep_until(due.into()).await;
            late.push(due.elapsed().as_nanos() as f64 / 1000.0);
        }
        report("cpu_ms_per_s", (cpu() - cpu_before).as_secs_f64() / start.elapsed().as_secs_f64() * 1000.0);
        report("late_p50_us", percentile(late, 0.5));
    });
}
