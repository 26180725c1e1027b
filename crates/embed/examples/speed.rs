//! Ours and its peers in turns, on the same texts and processors.
//!
//! `speed MODEL_FOLDER THREADS ROUNDS SECONDS [NAME=COMMAND]...`. A peer is a command that speaks as `bench/src/embed/peer.py` does:
//! it says `ready`, then answers every line. Prints for each case the middle of the rounds: texts a second by the clock, by
//! processor time, and how many times the peer's that is.
#![allow(clippy::print_stdout)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_embed::{Instructions, Model};
use serde::{Deserialize, Serialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SHORT: &str = "The control plane restarted the agent after its lease expired";

#[derive(Serialize)]
struct Job {
    texts: Vec<String>,
    seconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    texts_per_s: f64,
    texts_per_cpu_s: f64,
    first: Vec<f32>,
}

enum Contestant {
    Ours(Model),
    Peer { child: Child, to: ChildStdin, from: BufReader<ChildStdout> },
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, threads, rounds, seconds, peers @ ..] = arguments.as_slice() else {
        return Err("usage: speed MODEL_FOLDER THREADS ROUNDS SECONDS [NAME=COMMAND]...".into());
    };
    let (rounds, seconds): (usize, f64) = (rounds.parse()?, seconds.parse()?);
    let mut contestants = ours(Path::new(folder), threads.parse()?)?;
    for peer in peers {
        let (name, command) = peer.split_once('=').ok_or("a peer is NAME=COMMAND")?;
        contestants.push((name.to_owned(), started(command)?));
    }
    println!(
        "{:<22}{:<14}{:>12}{:>12}{:>9}{:>9}{:>10}",
        "case", "who", "texts/s", "by cpu", "ours/s", "ours/cpu", "cosine"
    );
    for (case, texts) in cases() {
        let job = Job { texts, seconds };
        let mut answers: Vec<Vec<Answer>> = contestants.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (answers, (_, contestant)) in answers.iter_mut().zip(&mut contestants) {
                answers.push(contestant.answer(&job)?);
            }
        }
        let (own, own_first) = (middles(&answers[0]), answers[0][0].first.clone());
        for ((name, _), answers) in contestants.iter().zip(&answers) {
            let (clock, cpu) = middles(answers);
            let cosine: f32 = answers[0].first.iter().zip(&own_first).map(|(a, b)| a * b).sum();
            let (by_clock, by_cpu) = (own.0 / clock, own.1 / cpu);
            println!(
                "{case:<22}{name:<14}{clock:>12.1}{cpu:>12.1}{by_clock:>9.2}{by_cpu:>9.2}{cosine:>10.6}"
            );
        }
    }
    Ok(())
}

/// The best instructions first, and those of AVX2 where they are not.
fn ours(folder: &Path, threads: NonZero<usize>) -> Result<Vec<(String, Contestant)>> {
    let kinds = [Instructions::best(), Instructions::Avx2];
    let kinds = if kinds[0] == kinds[1] { &kinds[..1] } else { &kinds[..] };
    kinds
        .iter()
        .filter(|it| it.are_here())
        .map(|it| {
            let model = Model::open_with(folder, *it)?.with_threads(threads);
            Ok((format!("{it:?}"), Contestant::Ours(model)))
        })
        .collect()
}

/// About 12, 24 and 144 tokens, alone, in eights and in thirty-twos; then texts of mixed lengths.
fn cases() -> Vec<(String, Vec<String>)> {
    let long = [SHORT; 12].join(" and then ");
    let two = [SHORT; 2].join(" and then ");
    let mut cases = Vec::new();
    for (name, text) in [("short", SHORT), ("middling", two.as_str()), ("long", long.as_str())] {
        for batch in [1, 8, 32] {
            cases.push((format!("{name}, batch {batch}"), vec![text.to_owned(); batch]));
        }
    }
    let mixed = (0..32).map(|n| [SHORT; 12][..1 + n * 5 % 12].join(" and then ")).collect();
    cases.push(("mixed, batch 32".to_owned(), mixed));
    cases
}

fn started(command: &str) -> Result<Contestant> {
    let mut child =
        Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let to = child.stdin.take().ok_or("no way to the peer")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no way from the peer")?);
    let mut line = String::new();
    while line.trim() != "ready" {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Err(format!("`{command}` ended before it was ready").into());
        }
    }
    Ok(Contestant::Peer { child, to, from })
}

impl Contestant {
    fn answer(&mut self, job: &Job) -> Result<Answer> {
        match self {
            Contestant::Ours(model) => measured(model, job),
            Contestant::Peer { to, from, .. } => {
                writeln!(to, "{}", serde_json::to_string(job)?)?;
                let mut line = String::new();
                from.read_line(&mut line)?;
                Ok(serde_json::from_str(&line)?)
            }
        }
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        if let Contestant::Peer { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn measured(model: &Model, job: &Job) -> Result<Answer> {
    let first = model.embed(&job.texts)?[0].whole().to_vec();
    let (clock, cpu, mut count) = (Instant::now(), processor_time(), 0);
    while clock.elapsed().as_secs_f64() < job.seconds {
        model.embed(&job.texts)?;
        count += job.texts.len();
    }
    let (clock, cpu) = (clock.elapsed(), processor_time() - cpu);
    let per = |time: Duration| count as f64 / time.as_secs_f64();
    Ok(Answer { texts_per_s: per(clock), texts_per_cpu_s: per(cpu), first })
}

/// Of all threads of this process.
fn processor_time() -> Duration {
    let it = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(it.tv_sec as u64, it.tv_nsec as u32)
}

fn middles(answers: &[Answer]) -> (f64, f64) {
    let middle = |of: fn(&Answer) -> f64| {
        let mut all: Vec<f64> = answers.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (middle(|it| it.texts_per_s), middle(|it| it.texts_per_cpu_s))
}
