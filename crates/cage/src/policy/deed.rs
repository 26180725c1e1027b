//! Deeds: what examples in policies speak of.

use std::path::PathBuf;

use crate::calls::number_of;

/// Something a program may want to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Read(PathBuf),
    Write(PathBuf),
    /// Start a program from a file.
    Run(PathBuf),
    Reach(String, u16),
    Call(u32),
    /// Find a variable in its environment.
    See(String),
}

impl Deed {
    /// `read /etc/hosts`, `write {work}/a`, `run /usr/bin/git`, `reach example.org:443`, `call mount`, `see HOME`.
    pub fn parse(text: &str) -> Result<Deed, &'static str> {
        let (verb, object) = text.split_once(' ').ok_or("an example is a verb and what it is done to")?;
        let path = || {
            let rooted = ["/", "{work}", "{home}"].iter().any(|root| object.starts_with(root));
            if rooted {
                Ok(PathBuf::from(object))
            } else {
                Err("the path of an example begins with /, {work} or {home}")
            }
        };
        match verb {
            "read" => Ok(Deed::Read(path()?)),
            "write" => Ok(Deed::Write(path()?)),
            "run" => Ok(Deed::Run(path()?)),
            "reach" => {
                let (host, port) = object.rsplit_once(':').ok_or("a host is reached at a port")?;
                let port = port.parse().map_err(|_| "a port is a number up to 65535")?;
                Ok(Deed::Reach(host.to_owned(), port))
            }
            "call" => number_of(object).map(Deed::Call).ok_or("no system call has this name"),
            "see" => Ok(Deed::See(object.to_owned())),
            _ => Err("an example begins with read, write, run, reach, call or see"),
        }
    }
}
