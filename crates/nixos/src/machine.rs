//! Whoever carries out steps: programs of the host, or in tests a peer that knows what they would do.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::place::Place;
use crate::step::Step;

/// Runs one step to its end.
pub trait Machine {
    fn run(&self, place: &Place, step: &Step) -> Result<Said, NotRun>;
}

/// How a program ended, and what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// 128 and its number for a signal, as in a shell.
    pub code: i32,
    pub text: String,
    pub complaint: String,
}

impl Said {
    /// The line of its complaint that says most, short and safe to show: its error, or what it said last.
    pub fn why(&self) -> String {
        let told = |line: &&str| !line.trim().is_empty();
        let error = self.complaint.lines().find(|line| line.trim_start().starts_with("error: "));
        let line = error.or_else(|| self.complaint.lines().rev().find(told)).unwrap_or("it said nothing");
        holdfast_types::printable(&line.trim().chars().take(300).collect::<String>())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("the host did not answer")]
    Unreachable,
    #[error("{program} took longer than {} s", .within.as_secs())]
    TooLong { program: String, within: Duration },
    #[error("{program} could not be run: {source}")]
    NoProgram { program: String, source: io::Error },
}

/// Of a program's output so much is read; the rest is dropped.
const OUTPUT_MAX: u64 = 8 << 20;
/// Most programs end at once; for those that do not, once in a while is enough.
const LOOK_FIRST: Duration = Duration::from_micros(200);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// For the git that Nix runs. Nothing of what a caller has set reaches a program.
const ENVIRONMENT: [(&str, &str); 1] = [("GIT_CONFIG_NOSYSTEM", "1")];

/// The programs of this machine.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// For a store that is not where it usually is.
    pub environment: Vec<(&'static str, PathBuf)>,
}

impl Programs {
    /// Runs this and nothing else.
    pub fn run_argv(&self, argv: &[String], within: Duration) -> Result<Said, NotRun> {
        let program = argv.first().cloned().unwrap_or_default();
        let not_run = |source| NotRun::NoProgram { program: program.clone(), source };
        let found = match program.contains('/') {
            true => holdfast_subprocess::isolated(Path::new(&program)),
            false => holdfast_subprocess::command(&program),
        };
        let mut command = found.map_err(not_run)?;
        command.args(argv.iter().skip(1)).envs(ENVIRONMENT);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(not_run)?;
        let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
        let (until, mut pause) = (Instant::now() + within, LOOK_FIRST);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(not_run)? {
                break status;
            }
            if Instant::now() >= until {
                child.kill().and_then(|()| child.wait()).map_err(not_run)?;
                return Err(NotRun::TooLong { program, within });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LOOK_EVERY);
        };
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or_default();
        Ok(Said { code: status.code().unwrap_or(128 + signal), text: text(out), complaint: text(err) })
    }
}

impl Machine for Programs {
    fn run(&self, place: &Place, step: &Step) -> Result<Said, NotRun> {
        self.run_argv(&step.argv(place), step.within())
    }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_MAX).read_to_end(&mut bytes);
            // What is beyond is read and dropped, or the program would wait for ever.
            let _ = io::copy(&mut pipe, &mut io::sink());
        }
        bytes
    })
}

fn text(handle: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&handle.join().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(argv: &[&str], within: Duration) -> Result<Said, NotRun> {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        Programs::default().run_argv(&argv, within)
    }

    #[test]
    fn a_program_has_its_arguments_a_limit_and_nothing_of_ours() {
        let said = run(&["printf", "%s|", "$HOME", "a b", "`id`"], Duration::from_secs(20)).unwrap();
        assert_eq!((said.code, said.text.as_str()), (0, "$HOME|a b|`id`|"));
        let names = run(&["env"], Duration::from_secs(20)).unwrap().text;
        // And where programs are, and the language.
        assert_eq!(names.lines().count(), ENVIRONMENT.len() + 2, "{names}");
        let failed = run(&["ls", "--", "/there/is/none"], Duration::from_secs(20)).unwrap();
        assert!(failed.code == 2 && failed.why().contains("/there/is/none"), "{failed:?}");
        let late = run(&["sleep", "30"], Duration::from_millis(50)).unwrap_err();
        assert!(matches!(late, NotRun::TooLong { .. }), "{late}");
        let none = run(&["holdfast-there-is-none"], Duration::from_secs(20)).unwrap_err();
        assert!(matches!(none, NotRun::NoProgram { .. }), "{none}");
        let git = run(&["git", "version"], Duration::from_secs(20)).unwrap_err();
        assert!(matches!(git, NotRun::NoProgram { .. }), "git is asked in repository.rs alone: {git}");
    }

    #[test]
    fn an_error_is_told_before_what_comes_after_it() {
        let complaint = "warning: x\nerror: the option is wrong\n\n  (use '--show-trace')\n".to_owned();
        assert_eq!(Said { complaint, ..Said::default() }.why(), "error: the option is wrong");
        assert_eq!(Said { complaint: "a\nb\n\n".to_owned(), ..Said::default() }.why(), "b");
        assert_eq!(Said::default().why(), "it said nothing");
    }
}
