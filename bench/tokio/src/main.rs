// SPDX-License-Identifier: MIT
//! One program for all Tokio workloads, one file each: linked once instead of twenty times.

mod common;
mod workload {
    pub mod blocking;
    pub mod blocking_short;
    pub mod buffered;
    pub mod busy;
    pub mod echo;
    pub mod fanout;
    pub mod fib;
    pub mod half;
    pub mod idle;
    pub mod mutex;
    pub mod parked;
    pub mod pingpong;
    pub mod preempt;
    pub mod ring;
    pub mod select;
    pub mod sieve;
    pub mod skynet;
    pub mod sleepers;
    pub mod spawn;
    pub mod spawn_join;
    pub mod tick;
    pub mod timers;
    pub mod wake;
    #[path = "yield.rs"]
    pub mod yield_now;
}
use workload::*;

const WORKLOADS: &[(&str, fn())] = &[
    ("blocking", blocking::main),
    ("blocking_short", blocking_short::main),
    ("buffered", buffered::main),
    ("busy", busy::main),
    ("echo", echo::main),
    ("fanout", fanout::main),
    ("fib", fib::main),
    ("half", half::main),
    ("idle", idle::main),
    ("mutex", mutex::main),
    ("parked", parked::main),
    ("pingpong", pingpong::main),
    ("preempt", preempt::main),
    ("ring", ring::main),
    ("select", select::main),
    ("sieve", sieve::main),
    ("skynet", skynet::main),
    ("sleepers", sleepers::main),
    ("spawn", spawn::main),
    ("spawn_join", spawn_join::main),
    ("tick", tick::main),
    ("timers", timers::main),
    ("wake", wake::main),
    ("yield", yield_now::main),
];

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match WORKLOADS.iter().find(|(known, _)| *known == name) {
        Some((_, run)) => run(),
        None => common::fail(&format!("unknown workload {name:?}")),
    }
}
