//! QEMU's monitor (QMP) on its standard input and output: what is done to the machine from outside.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Reading a few hundred megabytes on a busy machine.
const RESUME_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The event by which QEMU says that the machine has begun anew, whoever wanted it.
const RESET: &str = "RESET";

#[derive(Debug)]
pub(super) struct Monitor {
    commands: ChildStdin,
    answers: Receiver<Value>,
    asked: u64,
}

/// What can happen to a machine without its doing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Cut,
    Join,
    Freeze,
    Thaw,
    Reset,
}

impl Order {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Order::Cut => "cut its network",
            Order::Join => "join its network",
            Order::Freeze => "freeze it",
            Order::Thaw => "thaw it",
            Order::Reset => "reset it",
        }
    }

    fn command(self) -> Value {
        let link = |up: bool| json!({"execute": "set_link", "arguments": {"name": "net", "up": up}});
        match self {
            Order::Cut => link(false),
            Order::Join => link(true),
            Order::Freeze => json!({"execute": "stop"}),
            Order::Thaw => json!({"execute": "cont"}),
            Order::Reset => json!({"execute": "system_reset"}),
        }
    }
}

impl Monitor {
    pub(super) fn new(commands: ChildStdin, answers: ChildStdout) -> Monitor {
        Monitor { commands, answers: read_answers(answers), asked: 0 }
    }

    /// The state was written by a machine that ran, so it runs as soon as it is read. Says on which port its
    /// sshd answers, and by which one its second door is reached: QEMU has taken free ones, and only it knows which.
    pub(super) fn resume(&mut self) -> io::Result<(u16, u16)> {
        self.ask(json!({"execute": "qmp_capabilities"}))?;
        self.ask(json!({"execute": "migrate-incoming", "arguments": {"uri": "exec:cat state"}}))?;
        self.await_event("RESUME", RESUME_WITHIN)?;
        let network = json!({"command-line": "info usernet"});
        let table = self.ask(json!({"execute": "human-monitor-command", "arguments": network}))?;
        let port = |inside| table.as_str().and_then(|table| parse_port(table, inside));
        port("22").zip(port("2222")).ok_or_else(|| io::Error::other("it has no port for ssh"))
    }

    /// A reset is only asked for by its command; that it has happened, QEMU says afterwards.
    pub(super) fn obey(&mut self, order: Order) -> io::Result<()> {
        self.forget_events();
        self.ask(order.command())?;
        match order {
            Order::Reset => self.await_event(RESET, ANSWER_WITHIN),
            Order::Cut | Order::Join | Order::Freeze | Order::Thaw => Ok(()),
        }
    }

    /// Does something that makes the machine begin anew by itself, and waits until it has.
    pub(super) fn reset_by<T>(&mut self, doing: impl FnOnce() -> T, within: Duration) -> io::Result<T> {
        self.forget_events();
        let done = doing();
        self.await_event(RESET, within)?;
        Ok(done)
    }

    pub(super) fn quit(&mut self) -> io::Result<()> {
        self.say(&json!({"execute": "quit"}))
    }

    /// What has happened so far is not what will be waited for.
    fn forget_events(&self) {
        while self.answers.try_recv().is_ok() {}
    }

    fn await_event(&self, name: &str, within: Duration) -> io::Result<()> {
        await_answer(&self.answers, within, |answer| (answer["event"] == name).then_some(()))
    }

    /// Every question has a number, which comes back with its answer.
    fn ask(&mut self, mut question: Value) -> io::Result<Value> {
        self.asked += 1;
        let number = self.asked;
        question["id"] = number.into();
        self.say(&question)?;
        await_answer(&self.answers, ANSWER_WITHIN, |answer| {
            (answer["id"] == number).then(|| answer["return"].clone())
        })
    }

    fn say(&mut self, command: &Value) -> io::Result<()> {
        writeln!(self.commands, "{command}")?;
        self.commands.flush()
    }
}

fn await_answer<T>(
    answers: &Receiver<Value>,
    within: Duration,
    wanted: impl Fn(&Value) -> Option<T>,
) -> io::Result<T> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left) {
            Ok(answer) if !answer["error"].is_null() => {
                return Err(io::Error::other(answer["error"].to_string()));
            }
            Ok(answer) => {
                if let Some(found) = wanted(&answer) {
                    return Ok(found);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(io::Error::other(format!("no answer within {within:?}")));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it ended")),
        }
    }
}

/// From the monitor's table of the guest's network, in the line
/// `TCP[HOST_FORWARD]  12  127.0.0.1 40123  10.0.2.15  22  0  0`: the number after the first address.
/// The port here that leads to this port of the guest's.
fn parse_port(table: &str, inside: &str) -> Option<u16> {
    let lines = table.lines().filter(|line| line.contains("HOST_FORWARD"));
    let mut columns = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = columns.find(|columns| columns.get(5) == Some(&inside))?;
    line.get(3)?.parse().ok()
}

/// On a thread that ends with QEMU. It goes on reading when nobody listens any more, so that QEMU is never
/// held up.
fn read_answers(stdout: ChildStdout) -> Receiver<Value> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        for answer in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
            let _nobody_listens = tell.send(answer);
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &str, expected: Option<u16>) {
        assert_eq!(parse_port(table, "22"), expected, "{table}");
    }

    #[test]
    fn the_port_is_found_in_what_the_monitor_prints() {
        let head = "Hub -1 (net):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n";
        let line = "  TCP[HOST_FORWARD]  12       127.0.0.1 40123       10.0.2.15    22     0     0\r\n";
        let second = line.replace("40123", "40999").replace("  22 ", "2222 ");
        check(&format!("{head}{second}{line}"), Some(40123));
        assert_eq!(parse_port(&format!("{head}{line}{second}"), "2222"), Some(40999));
        check(head, None);
        check("  TCP[HOST_FORWARD]  12  127.0.0.1", None);
    }
}
