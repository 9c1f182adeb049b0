// SPDX-License-Identifier: MIT
//! spawn: empty tasks in bursts, each burst waited for; the first time in the process and again. A counter and one
//! Notify are cheaper than keeping a million JoinHandles.
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use crate::common::*;

async fn spawn_all(tasks: usize, burst: usize) -> f64 {
    let state = Arc::new((AtomicUsize::new(0), Notify::new()));
    let start = Instant::now();
    for _ in 0..tasks / burst {
        state.0.store(burst, std::sync::atomic::Ordering::Release);
        for _ in 0..burst {
            let state = state.clone();
            tokio::spawn(async move {
                if state.0.fetch_sub(1, AcqRel) == 1 {
                    state.1.notify_one()
                }
            });
        }
        state.1.notified().await;
    }
    per(start, tasks)
}

pub fn main() {
    let args = Args::new();
    let tasks = args.get("tasks", 1_000_000);
    let burst = args.get("burst", tasks);
    run(args.procs(), async move {
        report("cold_ns", spawn_all(tasks, burst).await);
        report("warm_ns", spawn_all(tasks, burst).await);
    });
}
