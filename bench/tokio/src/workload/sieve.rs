// SPDX-License-Identifier: MIT
//! sieve: primes by a chain of filter tasks. kanal's channels are unbuffered, Tokio's smallest is mpsc(1).
use std::time::Instant;
use crate::common::*;

async fn with_mpsc(primes: usize) -> u32 {
    let (sender, mut source) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut i = 2;
        while sender.send(i).await.is_ok() {
            i += 1
        }
    });
    let mut prime = 0;
    for _ in 0..primes {
        prime = source.recv().await.unwrap();
        let (sender, filtered) = tokio::sync::mpsc::channel(1);
        let mut unfiltered = std::mem::replace(&mut source, filtered);
        tokio::spawn(async move {
            while let Some(value) = unfiltered.recv().await {
                if value % prime != 0 && sender.send(value).await.is_err() {
                    return;
                }
            }
        });
    }
    prime
}

async fn with_kanal(primes: usize) -> u32 {
    let (sender, mut source) = kanal::bounded_async(0);
    tokio::spawn(async move {
        let mut i = 2;
        while sender.send(i).await.is_ok() {
            i += 1
        }
    });
    let mut prime = 0;
    for _ in 0..primes {
        prime = source.recv().await.unwrap();
        let (sender, filtered) = kanal::bounded_async(0);
        let unfiltered = std::mem::replace(&mut source, filtered);
        tokio::spawn(async move {
            while let Ok(value) = unfiltered.recv().await {
                if value % prime != 0 && sender.send(value).await.is_err() {
                    return;
                }
            }
        });
    }
    prime
}

pub fn main() {
    let args = Args::new();
    let (primes, kanal) = (args.get("primes", 2000), args.kanal());
    run(args.procs(), async move {
        let start = Instant::now();
        let prime = if kanal { with_kanal(primes).await } else { with_mpsc(primes).await };
        report("s", start.elapsed().as_secs_f64());
        require(primes != 2000 || prime == 17389, "the 2000th prime is 17389");
    });
}
