// SPDX-License-Identifier: MIT
//! ping-pong: two tasks, two channels. kanal's bounded(0) is a rendezvous; Tokio has none, its smallest is mpsc(1).
use std::time::Instant;
use crate::common::*;

async fn with_mpsc(count: usize) -> usize {
    let (ping, mut ping_out) = tokio::sync::mpsc::channel(1);
    let (pong, mut pong_out) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(value) = ping_out.recv().await {
            pong.send(value).await.unwrap()
        }
    });
    let mut sum = 0;
    for i in 0..count {
        ping.send(i).await.unwrap();
        sum += pong_out.recv().await.unwrap();
    }
    sum
}

async fn with_kanal(count: usize) -> usize {
    let (ping, ping_out) = kanal::bounded_async(0);
    let (pong, pong_out) = kanal::bounded_async(0);
    tokio::spawn(async move {
        while let Ok(value) = ping_out.recv().await {
            pong.send(value).await.unwrap()
        }
    });
    let mut sum = 0;
    for i in 0..count {
        ping.send(i).await.unwrap();
        sum += pong_out.recv().await.unwrap();
    }
    sum
}

pub fn main() {
    let args = Args::new();
    let (count, kanal) = (args.get("count", 1_000_000), args.kanal());
    run(args.procs(), async move {
        let start = Instant::now();
        let sum = if kanal { with_kanal(count).await } else { with_mpsc(count).await };
        report("ns", per(start, count));
        require(sum == count * (count - 1) / 2, "every value came back");
    });
}
