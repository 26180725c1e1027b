//! A device with passkeys, as a browser has one: somebody else's, in a program of its own (`third-parties/authenticator`), asked over a pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

/// One device with at most one passkey. A copy has the same secrets, as no device should.
#[derive(Debug)]
pub struct Key {
    number: u64,
}

impl Default for Key {
    fn default() -> Key {
        Key::new()
    }
}

impl Key {
    pub fn new() -> Key {
        Key::made(&json!({"do": "new", "counting": false}))
    }

    /// One that counts its uses, as security keys do.
    pub fn counting() -> Key {
        Key::made(&json!({"do": "new", "counting": true}))
    }

    fn made(asked: &Value) -> Key {
        let number = asked_of_it(asked).ok().and_then(|number| number.as_u64());
        Key { number: number.expect("a device") }
    }

    /// `navigator.credentials.create`, with its `publicKey`.
    pub fn create(&mut self, origin: &str, options: &Value) -> Value {
        self.try_create(origin, options).expect("a new passkey")
    }

    pub fn try_create(&mut self, origin: &str, options: &Value) -> Result<Value, String> {
        asked_of_it(&json!({"do": "create", "key": self.number, "origin": origin, "options": options}))
    }

    /// `navigator.credentials.get`, with its `publicKey`.
    pub fn get(&mut self, origin: &str, options: &Value) -> Value {
        self.try_get(origin, options).expect("an answer of a passkey")
    }

    pub fn try_get(&mut self, origin: &str, options: &Value) -> Result<Value, String> {
        asked_of_it(&json!({"do": "get", "key": self.number, "origin": origin, "options": options}))
    }
}

impl Clone for Key {
    fn clone(&self) -> Key {
        Key::made(&json!({"do": "copy", "key": self.number}))
    }
}

/// The program, one for this process.
struct Program {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

fn asked_of_it(asked: &Value) -> Result<Value, String> {
    static PROGRAM: OnceLock<Mutex<Program>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| Mutex::new(started()));
    let mut program = program.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(program.to, "{asked}").and_then(|()| program.to.flush()).expect("the authenticator is there");
    let mut line = String::new();
    program.from.read_line(&mut line).expect("the authenticator answers");
    let mut answer: Value = serde_json::from_str(&line).expect("an answer of the authenticator");
    match answer["failed"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(answer["ok"].take()),
    }
}

fn started() -> Program {
    let path = path();
    let mut command = Command::new(&path);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap_or_else(|e| {
        panic!("{} could not be started ({e}): `make third-parties` builds it", path.display())
    });
    let to = child.stdin.take().expect("its input");
    let from = BufReader::new(child.stdout.take().expect("its output"));
    Program { _child: child, to, from }
}

/// Where its build is put: in the folder for it, beside what is built of this workspace.
fn path() -> PathBuf {
    if let Some(path) = std::env::var_os("HOLDFAST_AUTHENTICATOR") {
        return path.into();
    }
    let here = std::env::current_exe().expect("the path of this program");
    let target = here.ancestors().find(|folder| folder.join("third-parties").is_dir());
    target.unwrap_or(&here).join("third-parties/debug/holdfast-authenticator")
}
