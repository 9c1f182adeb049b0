// SPDX-License-Identifier: MIT
//! fib: fork-join fib(n), one task for every call with n >= 2, no cut-off.
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use crate::common::*;

fn fib(n: u32) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return n as u64;
        }
        let left = tokio::spawn(fib(n - 1));
        let right = fib(n - 2).await;
        left.await.unwrap() + right
    })
}

fn tasks(n: u32) -> usize {
    if n < 2 { 0 } else { 1 + tasks(n - 1) + tasks(n - 2) }
}

fn plain(n: u32) -> u64 {
    if n < 2 { n as u64 } else { plain(n - 1) + plain(n - 2) }
}

pub fn main() {
    let args = Args::new();
    let n = args.get("n", 27) as u32;
    run(args.procs(), async move {
        for metric in ["cold_ns", "warm_ns"] {
            let start = Instant::now();
            let value = fib(n).await;
            report(metric, per(start, tasks(n)));
            require(value == plain(n), "fib(n)");
        }
    });
}
