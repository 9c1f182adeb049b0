// SPDX-License-Identifier: MIT
//! ring: tasks in a ring of channels; a token goes round. kanal's channels are unbuffered, Tokio's smallest is mpsc(1).
use std::time::Instant;
use crate::common::*;

async fn with_mpsc(tasks: usize, laps: usize) -> usize {
    let (first, mut last) = tokio::sync::mpsc::channel(1);
    for _ in 1..tasks {
        let (sender, next) = tokio::sync::mpsc::channel(1);
        let mut previous = std::mem::replace(&mut last, next);
        tokio::spawn(async move {
            while let Some(token) = previous.recv().await {
                if sender.send(token + 1).await.is_err() {
                    return;
                }
            }
        });
    }
    first.send(0).await.unwrap(); // one lap so that every task has started and waits
    last.recv().await.unwrap();
    let mut token = 0;
    let start = Instant::now();
    for _ in 0..laps {
        first.send(token).await.unwrap();
        token = last.recv().await.unwrap() + 1;
    }
    report("ns", per(start, laps * tasks));
    token
}

async fn with_kanal(tasks: usize, laps: usize) -> usize {
    let (first, mut last) = kanal::bounded_async(0);
    for _ in 1..tasks {
        let (sender, next) = kanal::bounded_async(0);
        let previous = std::mem::replace(&mut last, next);
        tokio::spawn(async move {
            while let Ok(token) = previous.recv().await {
                if sender.send(token + 1).await.is_err() {
                    return;
                }
            }
        });
    }
    first.send(0).await.unwrap();
    last.recv().await.unwrap();
    let mut token = 0;
    let start = Instant::now();
    for _ in 0..laps {
        first.send(token).await.unwrap();
        token = last.recv().await.unwrap() + 1;
    }
    report("ns", per(start, laps * tasks));
    token
}

pub fn main() {
    let args = Args::new();
    let (tasks, kanal) = (args.get("tasks", 10_000), args.kanal());
    let laps = args.get("hops", 1_000_000) / tasks;
    run(args.procs(), async move {
        let token = if kanal { with_kanal(tasks, laps).await } else { with_mpsc(tasks, laps).await };
        require(token == laps * tasks, "the token made every hop");
    });
}
