// SPDX-License-Identifier: MIT
//! busy: one task computes, nothing else is there to do: CPU time beyond that one core.
use std::time::Instant;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let ms = args.get("ms", 1000);
    run(args.procs(), async move {
        let work = Work::calibrate();
        tokio::spawn(async {}).await.unwrap();
        let (all, mine, start) = (cpu(), thread_cpu(), Instant::now());
        work.run(ms as f64 * 1000.0);
        let beyond = (cpu() - all).as_secs_f64() - (thread_cpu() - mine).as_secs_f64();
        report("beyond_percent", beyond / start.elapsed().as_secs_f64() * 100.0);
    });
}
