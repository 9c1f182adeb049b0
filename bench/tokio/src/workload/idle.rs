// SPDX-License-Identifier: MIT
//! idle: CPU time of a process whose tasks all wait.
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (tasks, ms) = (args.get("tasks", 10_000), args.get("ms", 3000));
    run(args.procs(), async move {
        let event = Arc::new(Notify::new());
        for _ in 0..tasks {
            let event = event.clone();
            tokio::spawn(async move { event.notified().await });
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (cpu_before, start) = (cpu(), Instant::now());
        tokio::time::sleep(Duration::from_millis(ms as u64)).await;
        report("cpu_ms_per_s", (cpu() - cpu_before).as_secs_f64() / start.elapsed().as_secs_f64() * 1000.0);
        event.notify_waiters();
    });
}
