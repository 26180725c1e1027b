//! The asking side, blocking: what a command uses.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use holdfast_types::Problem;
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::answer::Answer;
use crate::error::Error;
use crate::frame::{Hello, PROTOCOL, QUESTION_MAX, Question, REPLY_MAX, Reply, Step, line};
use crate::request::Request;

/// Longest silence. A daemon at work says so every two seconds; one with a thousand clients before this one
/// still gets to it in a fraction of that.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that has been greeted.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    patience: Duration,
    pub hello: Hello,
}

/// Connects to the daemon, if one listens. `None` when there is none: no socket, or nobody behind it.
pub fn connect(path: &Path) -> Result<Option<Client>, Problem> {
    connect_within(path, PATIENCE)
}

/// The same with another longest silence: what must not wait for a daemon that hangs asks like this.
pub fn connect_within(path: &Path, patience: Duration) -> Result<Option<Client>, Problem> {
    let socket = |source| Error::Socket { path: path.to_owned(), source }.problem();
    let stream = match Address::of(path).and_then(|address| UnixStream::connect(address.path())) {
        Ok(stream) => stream,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        // A path that cannot be a socket's address, or leads nowhere, has no daemon behind it either.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(socket(e)),
    };
    stream.set_read_timeout(Some(patience)).map_err(socket)?;
    stream.set_write_timeout(Some(patience)).map_err(socket)?;
    let mut stream = BufReader::new(stream);
    match greeting(&mut stream, patience)? {
        Greeting::Hello(hello) if hello.protocol == PROTOCOL => Ok(Some(Client { stream, patience, hello })),
        Greeting::Hello(hello) => {
            Err(Error::OtherProtocol { ours: PROTOCOL, theirs: hello.protocol }.problem())
        }
        Greeting::Refused(problem) => Err(problem),
        // It closed the door as we came.
        Greeting::Gone => Ok(None),
    }
}

enum Greeting {
    Hello(Hello),
    Refused(Problem),
    Gone,
}

fn greeting(stream: &mut BufReader<UnixStream>, patience: Duration) -> Result<Greeting, Problem> {
    let bytes = match read_line(stream, patience) {
        Err(Error::Cut) => return Ok(Greeting::Gone),
        read => read.map_err(|e| e.problem())?,
    };
    if let Ok(Reply::Problem(problem)) = serde_json::from_slice(&bytes) {
        return Ok(Greeting::Refused(problem));
    }
    parse(&bytes).map(Greeting::Hello).map_err(|e| e.problem())
}

impl Client {
    /// Asks, shows each step, and returns the answer.
    pub fn ask(mut self, request: Request, on_step: &mut dyn FnMut(&Step)) -> Result<Answer, Problem> {
        self.send(request).map_err(|e| e.problem())?;
        loop {
            let bytes = read_line(&mut self.stream, self.patience).map_err(|e| e.problem())?;
            match parse(&bytes).map_err(|e| e.problem())? {
                Reply::Step(step) => on_step(&step),
                Reply::Answer(answer) => return Ok(answer),
                Reply::Problem(problem) => return Err(problem),
            }
        }
    }

    fn send(&mut self, request: Request) -> Result<(), Error> {
        let bytes = line(&Question { protocol: PROTOCOL, request });
        if bytes.len() > QUESTION_MAX {
            return Err(Error::TooLong { len: bytes.len(), max: QUESTION_MAX });
        }
        match self.stream.get_mut().write_all(&bytes) {
            // The server may have answered already, for instance that it is stopping; what it said is read next.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|e| broken(e, self.patience)),
        }
    }
}

fn read_line(stream: &mut BufReader<UnixStream>, patience: Duration) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = stream.take(REPLY_MAX as u64).read_until(b'\n', &mut bytes);
    read.map_err(|e| broken(e, patience))?;
    if bytes.pop() == Some(b'\n') { Ok(bytes) } else { Err(Error::Cut) }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|e| Error::Garbled { why: e.to_string() })
}

fn broken(e: io::Error, patience: Duration) -> Error {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Silent { seconds: patience.as_secs() },
        _ => Error::Cut,
    }
}
