// SPDX-License-Identifier: MIT
//! mutex: tasks lock and unlock one mutex. `--lock std` is std::sync::Mutex, which Tokio's documentation recommends for
//! short sections that do not await; the default is Tokio's own, which parks the task.
use std::sync::Arc;
use std::time::Instant;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (tasks, count) = (args.get("tasks", 8), args.get("count", 1_000_000));
    let std_lock = args.text("lock", "tokio") == "std";
    run(args.procs(), async move {
        let asynchronous = Arc::new(tokio::sync::Mutex::new(0));
        let blocking = Arc::new(std::sync::Mutex::new(0));
        let start = Instant::now();
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                let (asynchronous, blocking) = (asynchronous.clone(), blocking.clone());
                tokio::spawn(async move {
                    for _ in 0..count {
                        if std_lock {
                            *blocking.lock().unwrap() += 1
                        } else {
                            *asynchronous.lock().await += 1
                        }
                    }
                })
            })
            .collect();
        for task in all {
            task.await.unwrap()
        }
        report("ns", per(start, tasks * count));
        let sum = *asynchronous.lock().await + *blocking.lock().unwrap();
        require(sum == tasks * count, "no increment was lost");
    });
}
