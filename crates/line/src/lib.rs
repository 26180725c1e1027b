//! A line to a host over SSH: one account, one key, one connection that many calls share.
//!
//! Every call is one program run by its argument list; it has a limit in time and in output, whatever the other side does. The host
//! proves who it is by a key that was pinned: another one stops everything.

mod places;

use std::fs::File;
use std::io::{Read, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::places::{Turn, gives_up, keeps};

/// More than anybody has to say.
pub const SAID_MAX: usize = 4 << 20;

/// What a shared connection may take to come up, and how long it stays without use: longer than the usual time between two calls.
const CONNECT_WITHIN: &str = "10";
const STAYS_FOR: &str = "300";
/// Telling a connection of this machine to end.
const HANG_UP_WITHIN: Duration = Duration::from_secs(5);
/// A call over an open connection takes some 10 ms; who floods it has said a few megabytes by then.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How an account on a host is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub address: String,
    pub port: u16,
    /// The name under which the host's key is pinned.
    pub alias: String,
    pub known_hosts: PathBuf,
    /// The private key.
    pub key: PathBuf,
    pub user: String,
    /// Where the shared connection is; in a folder of our own.
    pub socket: PathBuf,
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One call now and then, on many hosts.
    Looking,
    /// Many in a row, on few.
    Acting,
    /// Whether somebody gets in now: over a connection of its own, since one that is open already proves nothing.
    Once,
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unreached {
    #[error(
        "{alias} shows another host key than the one that was pinned: nothing is asked of it until a person has looked"
    )]
    AnotherKey { alias: String },
    #[error("{alias} did not answer: {said}")]
    NoAnswer { alias: String, said: String },
    #[error("{alias} did not answer within {} s", .within.as_secs())]
    TimedOut { alias: String, within: Duration },
    #[error("{alias} answered something that is no reply: {said}")]
    Garbled { alias: String, said: String },
    #[error("ssh could not be run: {0}")]
    NoSsh(#[from] std::io::Error),
}

/// Whose connection a call goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Shared,
    Own,
}

impl Line {
    /// ssh with these options of its own, up to where the command goes.
    fn command(&self, over: Over, options: &[&str]) -> std::io::Result<Command> {
        // It does not start where we are.
        let absolute = |path: &PathBuf| std::path::absolute(path);
        let mut command = holdfast_subprocess::command("ssh")?;
        command.args(["-F", "none", "-T"]);
        let mut option = |text: String| {
            command.arg("-o").arg(text);
        };
        for fixed in
            ["BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "StrictHostKeyChecking=yes"]
        {
            option(fixed.to_owned());
        }
        option("GlobalKnownHostsFile=/dev/null".to_owned());
        option(format!("UserKnownHostsFile={}", absolute(&self.known_hosts)?.display()));
        option(format!("HostKeyAlias={}", self.alias));
        option(format!("ConnectTimeout={CONNECT_WITHIN}"));
        option("ServerAliveInterval=5".to_owned());
        option("ServerAliveCountMax=3".to_owned());
        match over {
            Over::Shared => {
                option("ControlMaster=auto".to_owned());
                option(format!("ControlPersist={STAYS_FOR}"));
                option(format!("ControlPath={}", absolute(&self.socket)?.display()));
            }
            Over::Own => option("ControlPath=none".to_owned()),
        }
        option("LogLevel=ERROR".to_owned());
        command.arg("-i").arg(absolute(&self.key)?);
        command.args(["-p", &self.port.to_string(), "-l", &self.user]).args(options);
        command.args(["--", &self.address]);
        Ok(command)
    }

    /// Runs these words there, with this input, and gives what was said, whatever it ended with. Saying nothing is no answer.
    pub fn exchange(
        &self,
        purpose: Purpose,
        words: &[&str],
        input: Vec<u8>,
        within: Duration,
    ) -> Result<String, Unreached> {
        let alias = || self.alias.clone();
        let (_turn, over) = match purpose {
            Purpose::Acting => (None, Over::Shared),
            Purpose::Once => (None, Over::Own),
            Purpose::Looking => {
                let turn =
                    Turn::take(within).ok_or_else(|| Unreached::TimedOut { alias: alias(), within })?;
                (Some(turn), if keeps(&self.socket) { Over::Shared } else { Over::Own })
            }
        };
        let mut command = self.command(over, &[])?;
        // The master stays behind and keeps what it was given, so it is given files and no pipes of ours. And nobody who does not
        // read what he is told can hold us up.
        let (told, out, err) = (holding(&input)?, tempfile::tempfile()?, tempfile::tempfile()?);
        command.args(words).stdin(told).stdout(out.try_clone()?).stderr(err.try_clone()?);
        match watched(&mut command.spawn()?, within, &[&out, &err])? {
            Ended::ByItself => {}
            Ended::Late => return Err(Unreached::TimedOut { alias: alias(), within }),
            Ended::TooMuch => {
                let said = format!("it is longer than {SAID_MAX} bytes");
                return Err(Unreached::Garbled { alias: alias(), said });
            }
        }
        let (said, complaint) = (contents(out)?, contents(err)?);
        if !said.trim().is_empty() {
            return Ok(said);
        }
        let is_changed = complaint.contains("HOST IDENTIFICATION HAS CHANGED")
            || complaint.contains("Host key verification failed");
        Err(match is_changed {
            true => Unreached::AnotherKey { alias: alias() },
            false => Unreached::NoAnswer { alias: alias(), said: shown(&complaint) },
        })
    }

    /// Ends the shared connection.
    pub fn hang_up(&self) {
        gives_up(&self.socket);
        if !self.socket.exists() {
            return;
        }
        let Ok(mut command) = self.command(Over::Shared, &["-O", "exit"]) else { return };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _none_was_open = command.spawn().and_then(|mut child| watched(&mut child, HANG_UP_WITHIN, &[]));
    }
}

enum Ended {
    ByItself,
    /// It was ended: it took too long.
    Late,
    /// It was ended: it said too much.
    TooMuch,
}

/// Waits for a program that writes to these files. It is over when this returns.
fn watched(child: &mut Child, within: Duration, written: &[&File]) -> std::io::Result<Ended> {
    let until = Instant::now() + within;
    let is_too_much = |file: &&File| file.metadata().is_ok_and(|it| it.len() > SAID_MAX as u64);
    loop {
        let is_over = child.try_wait()?.is_some();
        let ended = if written.iter().any(is_too_much) {
            Ended::TooMuch
        } else if is_over {
            Ended::ByItself
        } else if Instant::now() >= until {
            Ended::Late
        } else {
            std::thread::sleep(LOOK_EVERY);
            continue;
        };
        if !is_over {
            child.kill()?;
            child.wait()?;
        }
        return Ok(ended);
    }
}

/// A file without a name that holds this, to be read from its beginning.
fn holding(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// What somebody else said, short and safe to show.
pub fn shown(text: &str) -> String {
    holdfast_types::printable(text.trim()).chars().take(300).collect()
}

fn contents(mut file: File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(SAID_MAX as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
