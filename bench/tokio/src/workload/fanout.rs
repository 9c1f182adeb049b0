// SPDX-License-Identifier: MIT
//! fan-out: tasks that compute against the same work done in a row; speed-up.
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (tasks, us, repeat) = (args.get("tasks", 1000), args.get("work-us", 10) as f64, args.get("repeat", 20));
    run(args.procs(), async move {
        let work = Work::calibrate();
        let (mut serial, mut parallel) = (Duration::ZERO, Duration::ZERO);
        for r in 0..=repeat {
            let start = Instant::now();
            for _ in 0..tasks {
                work.run(us)
            }
            let middle = Instant::now();
            let all: Vec<_> = (0..tasks).map(|_| tokio::spawn(async move { work.run(us) })).collect();
            for task in all {
                task.await.unwrap()
            }
            if r > 0 {
                // the first round only warms up
                serial += middle - start;
                parallel += middle.elapsed();
            }
        }
        report("speedup", serial.as_secs_f64() / parallel.as_secs_f64());
    });
}
