//! What a daemon costs that has nothing to do: memory, processor time, wake-ups.
//!
//! A young daemon is not idle: it checks everything, and does what came due while none was there. The measuring
//! begins when that is over.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The length of the kernel's step; it is 100 a second on every Linux that matters here.
const STEP: Duration = Duration::from_millis(10);
/// How often memory is looked at.
const LOOKS: u32 = 6;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// How old the daemon is to be.
    pub(crate) age: Duration,
    pub(crate) window: Duration,
}

/// What being idle came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idled {
    /// Proportional set size, in KiB, several times.
    pub(crate) pss_kib: Vec<f64>,
    /// Of that, what is no file's.
    pub(crate) anonymous_kib: f64,
    /// Seconds of one core.
    pub(crate) cpu_s: f64,
    pub(crate) seconds: f64,
    pub(crate) wakeups: u64,
    pub(crate) threads: usize,
}

/// Watches a process that was started at `since`.
pub(crate) fn measure(pid: u32, since: Instant, plan: Plan) -> Result<Idled> {
    std::thread::sleep(plan.age.saturating_sub(since.elapsed()));
    let (began, cpu, wakeups) = (Instant::now(), cpu_steps(pid)?, wakeups(pid)?.0);
    let mut out = Idled::default();
    for _ in 0..LOOKS {
        std::thread::sleep(plan.window / LOOKS);
        let (pss, anonymous) = memory(pid)?;
        out.pss_kib.push(pss);
        out.anonymous_kib = anonymous;
    }
    out.seconds = began.elapsed().as_secs_f64();
    out.cpu_s = STEP.as_secs_f64() * (cpu_steps(pid)? - cpu) as f64;
    let (now, threads) = self::wakeups(pid)?;
    (out.wakeups, out.threads) = (now.saturating_sub(wakeups), threads);
    Ok(out)
}

/// The proportional set size, and how much of it is anonymous, in KiB.
pub(crate) fn memory(pid: u32) -> Result<(f64, f64)> {
    let text = read(pid, "smaps_rollup")?;
    let field = |name: &str| kib(&text, name).with_context(|| format!("the kernel does not tell {name}"));
    Ok((field("Pss")?, field("Pss_Anon")?))
}

/// The resident set size, in KiB: all that is in memory, shared or not.
pub(crate) fn resident(pid: u32) -> Result<f64> {
    kib(&read(pid, "smaps_rollup")?, "Rss").context("the kernel does not tell Rss")
}

fn cpu_steps(pid: u32) -> Result<u64> {
    steps(&read(pid, "stat")?).context("the kernel does not tell how long a process has computed")
}

/// Seconds of one processor, with those of the children it has waited for.
pub(crate) fn cpu_with_children(pid: u32) -> Result<f64> {
    let text = read(pid, "stat")?;
    let all = text.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().skip(11).take(4));
    let steps: u64 = all.context("a stat has fields")?.filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(STEP.as_secs_f64() * steps as f64)
}

/// How often threads gave up the processor of themselves, and how many threads there are. One that ends takes its
/// count along.
fn wakeups(pid: u32) -> Result<(u64, usize)> {
    let (mut all, mut threads) = (0, 0);
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // It may have ended since the listing.
        let text = std::fs::read_to_string(task?.path().join("status")).unwrap_or_default();
        all += field(&text, "voluntary_ctxt_switches").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        threads += 1;
    }
    Ok((all, threads))
}

fn read(pid: u32, name: &str) -> Result<String> {
    std::fs::read_to_string(format!("/proc/{pid}/{name}")).with_context(|| format!("asking for {name}"))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
}

fn kib(text: &str, name: &str) -> Option<f64> {
    field(text, name)?.strip_suffix(" kB")?.trim().parse().ok()
}

/// User and system time, from `/proc/PID/stat`: the twelfth and thirteenth field after the name in brackets.
fn steps(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut number = || fields.next()?.parse::<u64>().ok();
    Some(number()? + number()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_pages_are_read() {
        let rollup = "55d-7ff [rollup]\nRss:  9000 kB\nPss:    8123 kB\nPss_Anon:  3000 kB\n";
        assert_eq!((kib(rollup, "Pss"), kib(rollup, "Pss_Anon")), (Some(8123.0), Some(3000.0)));
        assert_eq!(kib(rollup, "Swap"), None);
        assert_eq!(steps("77 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 1234 55 300 7 0 0"), Some(1289));
        assert_eq!(field("a:\t1\nvoluntary_ctxt_switches:\t7\n", "voluntary_ctxt_switches"), Some("7"));
    }

    #[test]
    fn this_process_can_be_watched() {
        let plan = Plan { age: Duration::ZERO, window: Duration::from_millis(6) };
        let idled = measure(std::process::id(), Instant::now(), plan).unwrap();
        assert!(idled.pss_kib.len() == LOOKS as usize && idled.pss_kib.iter().all(|kib| *kib > 0.0));
        assert!(idled.threads > 0 && idled.seconds > 0.0);
    }
}
