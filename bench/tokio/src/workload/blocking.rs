// SPDX-License-Identifier: MIT
//! blocking: one computing task per worker counts chunks of 20 us, first alone, then beside tasks that block a thread
//! for 1 ms again and again through spawn_blocking.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use crate::common::*;

async fn measure(procs: usize, blockers: usize, ms: usize, work: Work) -> (f64, f64) {
    let stop = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let computing: Vec<_> = (0..procs)
        .map(|_| {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut chunks = 0;
                while !stop.load(Relaxed) {
                    work.run(20.0);
                    tokio::task::yield_now().await;
                    chunks += 1;
                }
                chunks
            })
        })
        .collect();
    let blocking: Vec<_> = (0..blockers)
        .map(|_| {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut calls = 0;
                while !stop.load(Relaxed) {
                    tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1))).await.unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(ms as u64)).await;
    stop.store(true, Relaxed);
    let (mut chunks, mut calls) = (0, 0);
    for task in computing {
        chunks += task.await.unwrap()
    }
    for task in blocking {
        calls += task.await.unwrap()
    }
    let seconds = start.elapsed().as_secs_f64();
    (chunks as f64 / seconds, calls as f64 / seconds)
}

pub fn main() {
    let args = Args::new();
    let (procs, blockers, ms) = (args.procs(), args.get("blockers", 8), args.get("ms", 1500));
    run(procs, async move {
        let work = Work::calibrate();
        let (mut alone, mut beside, mut calls) = (0.0, 0.0, 0.0);
        for _ in 0..3 {
            // alternating: a drift of the machine hits both
            alone += measure(procs, 0, ms / 3, work).await.0;
            let (chunks, rate) = measure(procs, blockers, ms / 3, work).await;
            beside += chunks;
            calls += rate / 3.0;
        }
        report("kept_percent", beside / alone * 100.0);
        report("calls_per_s", calls);
    });
}
