// SPDX-License-Identifier: MIT
//! wake: after a quiet gap, A wakes the waiting B and keeps computing for 2 ms: time until B runs.
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (count, gap, sleep) = (args.get("count", 200), args.get("gap-us", 2000), args.get("sleep", 1) != 0);
    run(args.procs(), async move {
        let work = Work::calibrate();
        let (event, mut fired) = tokio::sync::mpsc::channel::<Instant>(1);
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = seen.clone();
        let waiter = tokio::spawn(async move {
            let mut late = Vec::with_capacity(count);
            for _ in 0..count {
                let at = fired.recv().await.unwrap();
                late.push(at.elapsed().as_nanos() as f64 / 1000.0);
                counter.fetch_add(1, SeqCst);
            }
            late
        });
        tokio::task::yield_now().await;
        for i in 0..count {
            if sleep {
                tokio::time::sleep(Duration::from_micros(gap as u64)).await
            } else {
                work.run(gap as f64)
            }
            event.send(Instant::now()).await.unwrap();
            work.run(2000.0);
            while seen.load(SeqCst) <= i {
                tokio::task::yield_now().await
            }
        }
        let late = waiter.await.unwrap();
        report("p50_us", percentile(late.clone(), 0.5));
        report("p99_us", percentile(late, 0.99));
    });
}
