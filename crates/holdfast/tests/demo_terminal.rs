//! `holdfast demo` in a real terminal: what stands on the screen, and what is left of it when somebody leaves early.
//!
//! The terminal is tmux, on a server of its own that nothing else talks to.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;

use std::process::Command;
use std::time::{Duration, Instant};

use home::PROGRAM;

/// So many times faster than for people: all of it takes a few seconds.
const PACE: &str = "10";
/// Far beyond what anything here takes on a slow machine.
const LONG: Duration = Duration::from_secs(30);

/// A terminal with one command in it.
struct Terminal {
    server: String,
    _dir: tempfile::TempDir,
    size: (usize, usize),
}

impl Terminal {
    /// Plays the demo on a screen of this size. What it ended with is written after it.
    fn playing(size: (usize, usize), before: &str) -> Terminal {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("tmux.conf");
        std::fs::write(&config, "set -g status off\nset -g default-terminal screen-256color\n").unwrap();
        let server = dir.path().join("server").to_str().unwrap().to_owned();
        // A shell that hears Ctrl-C itself would be gone before it could tell.
        let script =
            format!("trap : INT; {before} '{PROGRAM}' demo --pace {PACE}; echo \"code=$?\"; sleep 60");
        let terminal = Terminal { server, _dir: dir, size };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let config = config.to_str().unwrap();
        terminal.tmux(&["-f", config, "new-session", "-d", "-x", &width, "-y", &height, &script]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.server).args(args);
        for name in ["TMUX", "NO_COLOR", "HOLDFAST_HOME"] {
            command.env_remove(name);
        }
        let done = command.output().expect("tmux is installed by the set-up step");
        assert!(done.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn screen(&self) -> Vec<String> {
        self.tmux(&["capture-pane", "-p"]).lines().map(str::to_owned).collect()
    }

    /// The same with its colours.
    fn painted(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    fn said(&self, what: &str) -> String {
        self.tmux(&["display-message", "-p", what]).trim().to_owned()
    }

    /// The first screen that shows this.
    fn until(&self, text: &str) -> Vec<String> {
        let deadline = Instant::now() + LONG;
        loop {
            let screen = self.screen();
            if screen.iter().any(|line| line.contains(text)) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{text:?} is not on the screen:\n{}", screen.join("\n"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn interrupt(&self) {
        self.tmux(&["send-keys", "C-c"]);
    }

    /// The terminal is as it was found: its first screen, with a cursor, and lines that wrap.
    fn is_given_back(&self) {
        assert_eq!(self.said("#{alternate_on} #{cursor_flag} #{wrap_flag}"), "0 1 1");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.server).arg("kill-server").output();
    }
}

/// What every frame shows: the title and the state on the first line, the time and how to leave on the second. Says what is not so.
fn is_a_frame(screen: &[String], act: &str, (width, height): (usize, usize)) -> Result<(), String> {
    let is = |what: &str, holds: bool| if holds { Ok(()) } else { Err(what.to_owned()) };
    let row = |n: usize| screen.get(n).map_or("", String::as_str);
    is("the title", row(0).starts_with(&format!("  holdfast demo   act {act} of 3 · ")))?;
    is("the time", row(1).contains(" there · ") && row(1).ends_with("in memory · Ctrl-C ends it"))?;
    for label in ["Change", "Gates", "Lease", "Score", "Host"] {
        is(label, screen.iter().any(|line| line.starts_with(&format!("  {label} "))))?;
    }
    is("the plot", screen.iter().any(|line| line.contains("min") && line.ends_with("now")))?;
    is("its size", screen.len() <= height && screen.iter().all(|line| line.chars().count() <= width))?;
    let told = screen.iter().rev().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    let first = told.last().map_or("", String::as_str);
    is("a story from the beginning of a sentence", !first.starts_with("             "))
}

/// Waits for a whole frame of an act: a screen may be looked at while it is painted.
fn frame_of(terminal: &Terminal, act: &str) {
    let deadline = Instant::now() + LONG;
    loop {
        let screen = terminal.screen();
        let Err(what) = is_a_frame(&screen, act, terminal.size) else { return };
        let left = screen.iter().any(|line| line.contains("came out"));
        assert!(!left && Instant::now() < deadline, "act {act}, {what}:\n{}", screen.join("\n"));
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn played(size: (usize, usize), before: &str) -> Terminal {
    let terminal = Terminal::playing(size, before);
    for act in ["1", "2", "3"] {
        frame_of(&terminal, act);
        assert_eq!(terminal.said("#{alternate_on} #{cursor_flag}"), "1 0");
        let coloured = terminal.painted().contains('\u{1b}');
        assert_eq!(coloured, !before.contains("NO_COLOR"), "act {act}");
    }
    let end = terminal.until("code=");
    assert_eq!(end.iter().find(|line| line.starts_with("code=")).unwrap(), "code=0");
    terminal.is_given_back();
    let table = end.iter().position(|line| line.contains("came out")).unwrap();
    let row = |n: usize| end[table + n].split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(row(1).starts_with("web-1 pressure") && row(1).contains("● kept controller"), "{}", row(1));
    assert!(row(2).starts_with("web-2 you asked") && row(2).contains("↩ undone controller"), "{}", row(2));
    assert!(row(3).starts_with("web-3 pressure") && row(3).contains("↩ undone lease"), "{}", row(3));
    // A line that was too long would go on at the margin of the next; and nothing needs to be cut.
    let mut told = end.iter().filter(|line| !line.is_empty() && !line.starts_with("code="));
    assert!(told.all(|line| line.starts_with("  ") && !line.contains('…')), "{}", end.join("\n"));
    terminal
}

#[test]
fn it_plays_on_a_small_screen() {
    played((80, 24), "");
}

#[test]
fn it_plays_on_a_large_screen() {
    let terminal = played((120, 40), "");
    assert!(terminal.screen().join("\n").contains("MemoryHigh 896M → "), "there is room for both of a pair");
}

#[test]
fn it_plays_without_colour() {
    played((80, 24), "NO_COLOR=1");
}

#[test]
fn ctrl_c_in_any_act_leaves_the_terminal_as_it_was() {
    for act in ["1", "2", "3"] {
        let terminal = Terminal::playing((80, 24), "");
        terminal.until(&format!("act {act} of 3"));
        terminal.interrupt();
        let screen = terminal.until("code=");
        let told: Vec<&String> = screen.iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            told,
            ["Stopped. Nothing is left behind: all of it was in memory.", "code=130"],
            "act {act}"
        );
        terminal.is_given_back();
    }
}
