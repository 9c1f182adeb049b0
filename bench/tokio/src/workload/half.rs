// SPDX-License-Identifier: MIT
//! half: start one task that computes, compute as long oneself, join; speed-up over doing both in a row.
use std::time::{Duration, Instant};
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let (us, repeat) = (args.get("work-us", 500) as f64, args.get("repeat", 200));
    run(args.procs(), async move {
        let work = Work::calibrate();
        let (mut serial, mut parallel) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..repeat {
            let start = Instant::now();
            work.run(us);
            work.run(us);
            let middle = Instant::now();
            let other = tokio::spawn(async move { work.run(us) });
            work.run(us);
            other.await.unwrap();
            serial += middle - start;
            parallel += middle.elapsed();
        }
        report("speedup", serial.as_secs_f64() / parallel.as_secs_f64());
    });
}
