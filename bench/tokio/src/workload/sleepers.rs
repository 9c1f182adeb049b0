// SPDX-License-Identifier: MIT
//! sleepers: tasks sleep for random 1 to 50 ms; wall and CPU time, lateness.
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (tasks, count) = (args.get("tasks", 1000), args.get("count", 10));
    run(args.procs(), async move {
        let (cpu_before, start) = (cpu(), Instant::now());
        let all: Vec<_> = (0..tasks)
            .map(|t| {
                tokio::spawn(async move {
                    let mut random = Random::new(t as u64 + 1);
                    let mut late = Vec::with_capacity(count);
                    for _ in 0..count {
                        let pause = Duration::from_micros(1000 + random.next() % 49_000);
                        let due = Instant::now() + pause;
                        tokio::time::sleep(pause).await;
                        late.push((Instant::now() - due).as_nanos() as f64 / 1000.0);
                    }
                    late
                })
            })
            .collect();
        let mut late = Vec::with_capacity(tasks * count);
        for task in all {
            late.append(&mut task.await.unwrap())
        }
        report("wall_s", start.elapsed().as_secs_f64());
        report("cpu_s", (cpu() - cpu_before).as_secs_f64());
        report("late_p50_us", percentile(late.clone(), 0.5));
        report("late_p99_us", percentile(late, 0.99));
    });
}
