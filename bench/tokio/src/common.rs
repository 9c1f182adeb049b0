// SPDX-License-Identifier: MIT
//! What the Tokio programs share: arguments, clocks, calibrated work and the JSON lines that the harness reads.
//! common/bench.h has the same for C++.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::{Duration, Instant};

static UNUSED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

pub struct Args(HashMap<String, String>);

impl Args {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Args {
        let mut values = HashMap::new();
        let mut words = std::env::args().skip(2);
        while let Some(word) = words.next() {
            match (word.strip_prefix("--"), words.next()) {
                (Some(name), Some(value)) => values.insert(name.to_string(), value),
                _ => fail(&format!("usage: weftbench workload [--procs N] [--name value]...; stopped at {word}")),
            };
        }
        *UNUSED.lock().unwrap() = Some(values.keys().cloned().collect());
        Args(values)
    }

    pub fn text(&self, name: &str, fallback: &str) -> String {
        if let Some(unused) = UNUSED.lock().unwrap().as_mut() {
            unused.remove(name);
        }
        self.0.get(name).cloned().unwrap_or_else(|| fallback.to_string())
    }

    pub fn get(&self, name: &str, fallback: usize) -> usize {
        let text = self.text(name, &fallback.to_string());
        text.parse().unwrap_or_else(|_| fail(&format!("--{name} {text}: not a number")))
    }

    pub fn procs(&self) -> usize {
        self.get("procs", 1)
    }

    /// `--channel mpsc` (Tokio's own, the default) or `--channel kanal`.
    pub fn kanal(&self) -> bool {
        match self.text("channel", "mpsc").as_str() {
            "mpsc" => false,
            "kanal" => true,
            other => fail(&format!("--channel {other}: mpsc or kanal")),
        }
    }
}

pub fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(1)
}

/// A wrong result makes a time worthless.
pub fn require(ok: bool, what: &str) {
    if !ok {
        fail(&format!("wrong result: {what}"))
    }
}

pub fn report(metric: &str, value: f64) {
    if let Some(name) = UNUSED.lock().unwrap().iter().flatten().next() {
        fail(&format!("unknown argument --{name}"));
    }
    println!("{{\"metric\":\"{metric}\",\"value\":{value}}}");
}

/// One worker is Tokio's current-thread runtime, its fastest form; more are the multi-thread runtime. The main future
/// is spawned, so that it runs on a worker like every other task, and not on a thread of its own beside them.
pub fn run<F>(procs: usize, main: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let mut builder = if procs == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = builder.worker_threads(procs).enable_all().build().unwrap();
    let result = runtime.block_on(async { tokio::spawn(main).await.unwrap() });
    runtime.shutdown_background();
    result
}

pub fn per(start: Instant, operations: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / operations as f64
}

fn clock(id: libc::clockid_t) -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(id, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// User and system time of the process.
pub fn cpu() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Of the calling thread alone.
pub fn thread_cpu() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

pub fn voluntary_switches() -> f64 {
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_nvcsw as f64
    }
}

pub fn percentile(mut values: Vec<f64>, q: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_by(f64::total_cmp);
    values[(q * (values.len() - 1) as f64) as usize]
}

static SINK: AtomicU64 = AtomicU64::new(0);

// black_box makes it impure: calls with equal arguments must not be merged.
#[inline(never)]
fn spin(steps: u64) -> u64 {
    let steps = std::hint::black_box(steps);
    let mut x = steps | 1;
    for i in 0..steps {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(i);
    }
    x
}

pub fn keep(value: u64) {
    SINK.store(value, Relaxed)
}

#[derive(Clone, Copy)]
pub struct Work(f64);

impl Work {
    /// The fastest of twenty runs, so that an interruption does not count.
    pub fn calibrate() -> Work {
        let fastest = (0..20)
            .map(|_| {
                let start = Instant::now();
                keep(spin(100_000));
                start.elapsed()
            })
            .min()
            .unwrap();
        Work(100_000.0 / (fastest.as_nanos() as f64 / 1000.0))
    }

    pub fn run(self, us: f64) {
        keep(spin((us * self.0) as u64))
    }
}

/// The same small generator in every language.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2654435761).wrapping_add(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
