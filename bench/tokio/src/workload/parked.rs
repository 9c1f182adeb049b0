// SPDX-License-Identifier: MIT
//! parked: tasks wait for one event, a Notify; memory and time to create and to end them.
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use crate::common::*;

#[derive(Default)]
struct State {
    parked: AtomicUsize,
    all_parked: Notify,
    event: Notify,
    ended: AtomicUsize,
    all_ended: Notify,
}

pub fn main() {
    let args = Args::new();
    let (tasks, settle) = (args.get("tasks", 1_000_000), args.get("settle-ms", 10_000));
    run(args.procs(), async move {
        let state = Arc::new(State::default());
        let before = resident();
        let start = Instant::now();
        for _ in 0..tasks {
            let state = state.clone();
            tokio::spawn(async move {
                let event = state.event.notified(); // counts from here, before the task says that it waits
                if state.parked.fetch_add(1, SeqCst) + 1 == tasks {
                    state.all_parked.notify_one()
                }
                event.await;
                if state.ended.fetch_add(1, SeqCst) + 1 == tasks {
                    state.all_ended.notify_one()
                }
            });
        }
        state.all_parked.notified().await;
        report("create_ns", per(start, tasks));
        report("bytes", (resident() - before) / tasks as f64);
        let start = Instant::now();
        state.event.notify_waiters();
        state.all_ended.notified().await;
        report("exit_ns", per(start, tasks));
        tokio::time::sleep(Duration::from_millis(settle as u64)).await;
        report("after_mb", resident() / 1e6);
    });
}
