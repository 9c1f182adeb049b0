// SPDX-License-Identifier: MIT
//! buffered: producers send integers through one bounded channel to consumers. Tokio's mpsc has a single consumer, so
//! with several consumers only kanal can run this.
use std::time::Instant;
use crate::common::*;

async fn with_mpsc(capacity: usize, producers: usize, each: usize) -> usize {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(capacity);
    for _ in 0..producers {
        let sender = sender.clone();
        tokio::spawn(async move {
            for i in 0..each {
                sender.send(i).await.unwrap()
            }
        });
    }
    drop(sender);
    let consumer = tokio::spawn(async move {
        let mut sum = 0;
        while let Some(value) = receiver.recv().await {
            sum += value
        }
        sum
    });
    consumer.await.unwrap()
}

async fn with_kanal(capacity: usize, producers: usize, consumers: usize, each: usize) -> usize {
    let (sender, receiver) = kanal::bounded_async(capacity);
    let consuming: Vec<_> = (0..consumers)
        .map(|_| {
            let receiver = receiver.clone();
            tokio::spawn(async move {
                let mut sum = 0;
                while let Ok(value) = receiver.recv().await {
                    sum += value
                }
                sum
            })
        })
        .collect();
    for _ in 0..producers {
        let sender = sender.clone();
        tokio::spawn(async move {
            for i in 0..each {
                sender.send(i).await.unwrap()
            }
        });
    }
    drop((sender, receiver));
    let mut sum = 0;
    for consumer in consuming {
        sum += consumer.await.unwrap()
    }
    sum
}

pub fn main() {
    let args = Args::new();
    let (producers, consumers) = (args.get("producers", 1), args.get("consumers", 1));
    let (capacity, kanal) = (args.get("capacity", 128), args.kanal());
    let each = args.get("count", 10_000_000) / producers;
    require(kanal || consumers == 1, "mpsc has one consumer");
    run(args.procs(), async move {
        let start = Instant::now();
        let sum = if kanal {
            with_kanal(capacity, producers, consumers, each).await
        } else {
            with_mpsc(capacity, producers, each).await
        };
        report("ns", per(start, each * producers));
        require(sum == producers * (each * (each - 1) / 2), "every value arrived once");
    });
}
