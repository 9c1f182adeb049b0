// SPDX-License-Identifier: MIT
//! yield: tasks call yield_now.
use std::time::Instant;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (tasks, count) = (args.get("tasks", 1), args.get("count", 1_000_000));
    run(args.procs(), async move {
        let start = Instant::now();
        let all: Vec<_> = (0..tasks)
            .map(|_| {
                tokio::spawn(async move {
                    for _ in 0..count {
                        tokio::task::yield_now().await
                    }
                })
            })
            .collect();
        for task in all {
            task.await.unwrap()
        }
        report("ns", per(start, tasks * count));
    });
}
