//! A program that takes part: it says `ready`, then answers every line with a line, both JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::tools::peers_dir;

/// One that runs, until it is dropped.
#[derive(Debug)]
pub(super) struct Peer {
    name: String,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    pub(super) fn start(name: &str, command: &mut Command) -> Result<Peer> {
        let starting = || format!("starting {name}");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().with_context(starting)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name} has no pipes");
        };
        let mut peer = Peer { name: name.to_owned(), child, to, from: BufReader::new(from) };
        while peer.line()?.trim() != "ready" {}
        Ok(peer)
    }

    pub(super) fn ask<T: DeserializeOwned>(&mut self, job: &impl Serialize) -> Result<T> {
        writeln!(self.to, "{}", serde_json::to_string(job)?)?;
        let line = self.line()?;
        serde_json::from_str(&line).with_context(|| format!("{} said {line:?}", self.name))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.from.read_line(&mut line)? {
            0 => bail!("{} ended; what it said on standard error stands above", self.name),
            _ => Ok(line),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python that memory's peers are installed for, where it is.
pub(super) fn python() -> Option<PathBuf> {
    there(peers_dir().ok()?.join("memory/bin/python"))
}

/// What embeds with candle, where it is built.
pub(super) fn candle() -> Option<PathBuf> {
    there(peers_dir().ok()?.join("rust/bin/candle-peer"))
}

/// A program of ours beside this file.
pub(super) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/memory/peers").join(name)
}

fn there(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}
