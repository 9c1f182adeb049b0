// SPDX-License-Identifier: MIT
//! select: two producers on two channels (mpsc(1): Tokio has no rendezvous), one consumer selecting.
use std::time::Instant;
use crate::common::*;

pub fn main() {
    let args = Args::new();
    let half = args.get("count", 1_000_000) / 2;
    run(args.procs(), async move {
        let (left, mut left_out) = tokio::sync::mpsc::channel(1);
        let (right, mut right_out) = tokio::sync::mpsc::channel(1);
        for channel in [left, right] {
            tokio::spawn(async move {
                for i in 0..half {
                    if channel.send(i).await.is_err() {
                        return;
                    }
                }
                std::future::pending::<()>().await // keep the sender, so that a finished channel does not count as ready
            });
        }
        let mut sum = 0;
        let start = Instant::now();
        for _ in 0..2 * half {
            sum += tokio::select! {
                Some(value) = left_out.recv() => value,
                Some(value) = right_out.recv() => value,
            };
        }
        report("ns", per(start, 2 * half));
        require(sum == half * (half - 1), "every value arrived once");
    });
}
