// SPDX-License-Identifier: MIT
//! timers: create timers that end in an hour, stop them all, then create and stop one at a time. A Sleep enters Tokio's
//! timer wheel when it is first polled and leaves it when it is dropped.
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::Sleep;
use crate::common::*;

async fn armed(extra_us: usize) -> Pin<Box<Sleep>> {
    let mut sleep = Box::pin(tokio::time::sleep(Duration::from_secs(3600) + Duration::from_micros(extra_us as u64)));
    poll_fn(|context| {
        require(sleep.as_mut().poll(context).is_pending(), "no timer had fired");
        Poll::Ready(())
    })
    .await;
    sleep
}

pub fn main() {
    let args = Args::new();
    let count = args.get("count", 1_000_000);
    run(args.procs(), async move {
        let mut timers = Vec::with_capacity(count);
        let start = Instant::now();
        for i in 0..count {
            timers.push(armed(i * 7919 % count).await)
        }
        report("create_ns", per(start, count));
        let start = Instant::now();
        timers.clear();
        report("stop_ns", per(start, count));
        let start = Instant::now();
        for _ in 0..count {
            drop(armed(0).await)
        }
        report("churn_ns", per(start, count));
    });
}
