//! Full verification beside `openssl speed`, in turns.
//!
//! Each verification runs in a process of its own, so that its CPU time and its peak memory are its own. The
//! same is done with a log of a tenth of the size: if memory is constant, the peaks agree.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use holdfast_journal::VerifyOptions;
use rustix::time::{ClockId, clock_gettime};

use crate::house::{Drafts, House, LINE, trust};

/// The hidden first argument that makes this program verify one log and say what it took.
pub(crate) const CHILD: &str = "verify-one";

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) bytes: u64,
    pub(crate) rounds: usize,
}

/// What verification came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verified {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    pub(crate) small_bytes: u64,
    /// Bytes of log per second of CPU and of wall time, per round.
    pub(crate) per_cpu: Vec<f64>,
    pub(crate) per_wall: Vec<f64>,
    /// The same per second of CPU when every checkpoint's signature is checked.
    pub(crate) every_signature: Vec<f64>,
    /// What openssl says it hashes per second of CPU; empty where there is no openssl.
    pub(crate) openssl: Vec<f64>,
    /// Peak resident memory in KiB, per round.
    pub(crate) peak_kib: Vec<f64>,
    pub(crate) small_peak_kib: Vec<f64>,
}

/// Which signatures a verification checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signatures {
    LastOfSegment,
    Every,
}

/// What one verification took.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Took {
    bytes: u64,
    cpu_ns: u64,
    wall_ns: u64,
    peak_kib: u64,
}

pub(crate) fn measure(dir: &Path, drafts: Drafts, plan: Plan) -> Result<Verified> {
    let (large, small) = (dir.join("verify"), dir.join("verify.small"));
    let entries = plan.bytes / LINE as u64;
    for (dir, entries) in [(&large, entries), (&small, entries / 10)] {
        drafts.fill(&House::create(dir)?.open()?, entries)?;
    }
    let mut out = Verified { entries, ..Verified::default() };
    for _ in 0..plan.rounds {
        out.openssl.extend(openssl_speed()?);
        let took = in_child(&large, Signatures::LastOfSegment)?;
        out.bytes = took.bytes;
        out.per_cpu.push(took.bytes as f64 / took.cpu_ns as f64 * 1e9);
        out.per_wall.push(took.bytes as f64 / took.wall_ns as f64 * 1e9);
        out.peak_kib.push(took.peak_kib as f64);
        let took = in_child(&small, Signatures::LastOfSegment)?;
        out.small_bytes = took.bytes;
        out.small_peak_kib.push(took.peak_kib as f64);
        let took = in_child(&large, Signatures::Every)?;
        out.every_signature.push(took.bytes as f64 / took.cpu_ns as f64 * 1e9);
    }
    Ok(out)
}

/// What the child does: verifies the log it is told and prints what it took.
pub(crate) fn child(args: &[String]) -> Result<String> {
    let [dir, signatures] = args else { bail!("{CHILD} takes a directory and `every` or `last`") };
    let trust = trust()?;
    let (began, cpu) = (Instant::now(), cpu_ns());
    let found = holdfast_journal::verify(
        Path::new(dir),
        VerifyOptions {
            trust: Some(&trust),
            vault: None,
            archive: None,
            every_signature: signatures == "every",
            progress: &mut |_| {},
        },
    )?;
    let (wall, cpu) = (began.elapsed(), cpu_ns() - cpu);
    ensure!(found.is_good(), "the log is not whole: {:?}", found.findings);
    ensure!(found.signatures > 0, "no signature was checked");
    let status = std::fs::read_to_string("/proc/self/status")?;
    let took = Took {
        bytes: found.bytes,
        cpu_ns: cpu,
        wall_ns: nanos(wall),
        peak_kib: peak_of(&status).context("the kernel does not say how much memory was used")?,
    };
    Ok(took.to_line())
}

fn in_child(dir: &Path, signatures: Signatures) -> Result<Took> {
    let signatures = match signatures {
        Signatures::LastOfSegment => "last",
        Signatures::Every => "every",
    };
    let mut child = Command::new(std::env::current_exe()?);
    let out = child.arg(CHILD).arg(dir).arg(signatures).output()?;
    ensure!(out.status.success(), "a verification failed: {}", String::from_utf8_lossy(&out.stderr).trim());
    Took::parse(&String::from_utf8_lossy(&out.stdout)).context("a verification said something else")
}

/// Bytes per second of CPU that openssl hashes in pieces of one entry; `None` without openssl.
fn openssl_speed() -> Result<Option<f64>> {
    let mut speed = Command::new("openssl");
    let size = LINE.to_string();
    speed.args(["speed", "-mr", "-seconds", "1", "-bytes", &size, "-evp", "sha256"]);
    match speed.output() {
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stdout).into_owned();
            let rate = speed_of(&said).with_context(|| format!("openssl speed said {said:?}"));
            rate.map(Some)
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).context("running openssl speed"),
    }
}

/// The bytes per second in the machine-readable answer: `+F:25:sha256:740261000.00`.
fn speed_of(said: &str) -> Option<f64> {
    let line = said.lines().find(|l| l.starts_with("+F:"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Peak resident memory in KiB, from the text of `/proc/self/status`.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

impl Took {
    fn to_line(self) -> String {
        let Took { bytes, cpu_ns, wall_ns, peak_kib } = self;
        format!("{bytes} {cpu_ns} {wall_ns} {peak_kib}")
    }

    fn parse(line: &str) -> Option<Took> {
        let numbers: Vec<u64> = line.split_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let [bytes, cpu_ns, wall_ns, peak_kib] = numbers[..] else {
            return None;
        };
        Some(Took { bytes, cpu_ns, wall_ns, peak_kib })
    }
}

fn cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec.unsigned_abs() * 1_000_000_000 + spent.tv_nsec.unsigned_abs()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openssl_is_understood() {
        let said = "+DT:sha256:1:400\n+R:1480522:sha256:0.800000\n+H:400\n+F:25:sha256:740261000.00\n";
        assert_eq!(speed_of(said), Some(740_261_000.0));
        assert_eq!(speed_of("speed: Unknown algorithm\n"), None);
    }

    #[test]
    fn the_peak_is_read_from_the_kernels_page() {
        assert_eq!(peak_of("VmPeak:\t  9000 kB\nVmHWM:\t    4321 kB\n"), Some(4321));
        assert_eq!(peak_of("VmPeak:\t  9000 kB\n"), None);
    }

    #[test]
    fn a_childs_answer_reads_back() {
        let took = Took { bytes: 1, cpu_ns: 2, wall_ns: 3, peak_kib: 4 };
        assert_eq!(Took::parse(&took.to_line()), Some(took));
        assert_eq!(Took::parse("1 2 3"), None);
        assert_eq!(Took::parse("1 2 3 x"), None);
    }
}
