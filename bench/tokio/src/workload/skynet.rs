// SPDX-License-Identifier: MIT
//! skynet: a tree of tasks with ten children each; each node sums its children's channel.
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use crate::common::*;

type Node = Pin<Box<dyn Future<Output = ()> + Send>>;

fn with_mpsc(parent: tokio::sync::mpsc::Sender<usize>, number: usize, size: usize) -> Node {
    Box::pin(async move {
        if size == 1 {
            parent.send(number).await.unwrap();
            return;
        }
        let (sender, mut children) = tokio::sync::mpsc::channel(1);
        for i in 0..10 {
            tokio::spawn(with_mpsc(sender.clone(), number + i * (size / 10), size / 10));
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += children.recv().await.unwrap()
        }
        parent.send(sum).await.unwrap()
    })
}

fn with_kanal(parent: kanal::AsyncSender<usize>, number: usize, size: usize) -> Node {
    Box::pin(async move {
        if size == 1 {
            parent.send(number).await.unwrap();
            return;
        }
        let (sender, children) = kanal::bounded_async(0);
        for i in 0..10 {
            tokio::spawn(with_kanal(sender.clone(), number + i * (size / 10), size / 10));
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += children.recv().await.unwrap()
        }
        parent.send(sum).await.unwrap()
    })
}

pub fn main() {
    let args = Args::new();
    let (leaves, kanal) = (args.get("leaves", 1_000_000), args.kanal());
    run(args.procs(), async move {
        for metric in ["cold_s", "warm_s"] {
            let start = Instant::now();
            let sum = if kanal {
                let (sender, result) = kanal::bounded_async(0);
                tokio::spawn(with_kanal(sender, 0, leaves));
                result.recv().await.unwrap()
            } else {
                let (sender, mut result) = tokio::sync::mpsc::channel(1);
                tokio::spawn(with_mpsc(sender, 0, leaves));
                result.recv().await.unwrap()
            };
            report(metric, start.elapsed().as_secs_f64());
            require(sum == leaves * (leaves - 1) / 2, "sum of the leaves");
        }
    });
}
