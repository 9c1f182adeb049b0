// SPDX-License-Identifier: MIT
//! spawn-join: start one task, wait for it, repeat.
use std::time::Instant;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let count = args.get("count", 1_000_000);
    run(args.procs(), async move {
        let mut sum = 0;
        let start = Instant::now();
        for _ in 0..count {
            sum += tokio::spawn(async { 1 }).await.unwrap();
        }
        report("ns", per(start, count));
        require(sum == count, "every task ran once");
    });
}
