//! What the harness set up outside the cage for the intruder to aim at.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Outcome;

/// The decoys. A missing one turns the attempts that need it into [`Outcome::CouldNotTry`].
///
/// Paths are absolute and written as they are outside; for what is granted, inside and outside are the same. What is to
/// be outside lies below nothing that the cage grants or replaces, `/tmp` included: path rules go by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Decoys {
    /// A file outside, owned by the user the cage runs as, mode 0666, in a folder that they may enter.
    pub file: Option<PathBuf>,
    /// A line that stands in `file` and nowhere else. At least eight characters.
    pub file_content: Option<String>,
    /// A folder outside that belongs to the user the cage runs as.
    pub folder: Option<PathBuf>,
    /// The folder inside that may be written to.
    pub work: Option<PathBuf>,
    /// A symbolic link in `work` that points at `file`.
    pub link_in_work: Option<PathBuf>,
    /// A granted folder that may be read only. Its owner is the user the cage runs as, so that nothing but the
    /// cage keeps it from being changed.
    pub readonly: Option<PathBuf>,
    /// A file in `readonly` with the same owner, mode 0644.
    pub readonly_file: Option<PathBuf>,
    /// A file that is hidden although the folder it lies in is granted.
    pub hidden: Option<PathBuf>,
    /// A line that stands in `hidden` and nowhere else.
    pub hidden_content: Option<String>,
    /// A repository two folders deep in `work`: its `.git` has `config` and `hooks/post-checkout`, and in `modules/sub` the
    /// repository of a submodule without hooks, to which the file `sub/.git` leads. Its settings name
    /// the folder of hooks `tools` and the script `monitor`; the link `linked/.git` leads to it. Beside it `.envrc` and
    /// `.vscode/tasks.json`. All of it belongs to the user the cage runs as.
    pub repository: Option<PathBuf>,
    /// Number, outside, of a process of the same user that sleeps. It leads its own session: by that it is told
    /// from a process inside that happens to have the same number. Its standard input is `file`.
    pub process: Option<i32>,
    /// A text in the environment of `process`.
    pub process_env_marker: Option<String>,
    /// A text among the arguments of `process`.
    pub process_argv_marker: Option<String>,
    /// A listener on the host's loopback, IPv4.
    pub tcp: Option<SocketAddr>,
    /// A listener on the host's loopback, IPv6.
    pub tcp6: Option<SocketAddr>,
    /// A UDP socket on the host's loopback that answers every datagram.
    pub udp: Option<SocketAddr>,
    /// Name of an abstract Unix stream listener of the host, without the leading zero byte.
    pub abstract_socket: Option<String>,
    /// Name of an abstract Unix datagram socket of the host.
    pub datagram_socket: Option<String>,
    /// Name of an abstract Unix stream listener of the host that hands a descriptor to whoever connects.
    pub handing_socket: Option<String>,
    /// A Unix stream listener outside that belongs to the user the cage runs as.
    pub path_socket: Option<PathBuf>,
    /// A listener of a decoy host at a link-local address, such as 169.254.169.254:80 in the harness's own network
    /// namespace.
    pub link_local: Option<SocketAddr>,
    /// A decoy resolver that answers every datagram and accepts connections.
    pub dns: Option<SocketAddr>,
    /// The proxy as seen from inside.
    pub proxy: Option<SocketAddr>,
    /// `host:port` that the proxy is to refuse. It answers HTTP requests with `proxy_refused_answer`.
    pub proxy_refused_host: Option<String>,
    /// A line that only the refused host answers with.
    pub proxy_refused_answer: Option<String>,
    /// `host:port` that the proxy lets through.
    pub proxy_allowed_host: Option<String>,
    /// Name of a file in the host's `/dev/shm`, readable by anyone.
    pub shared_memory: Option<String>,
    /// Key of a System V shared-memory segment of the host, mode 0666.
    pub shared_memory_key: Option<i32>,
    /// Key of a System V semaphore set of the host, mode 0666.
    pub semaphore_key: Option<i32>,
    /// Key of a System V message queue of the host, mode 0666.
    pub queue_key: Option<i32>,
    /// Name of a POSIX message queue of the host, without the slash, mode 0666.
    pub queue_name: Option<String>,
    /// Number, 64 or more, of a descriptor of `file` that the harness left open on purpose.
    pub inherited_descriptor: Option<i32>,
    /// Name of an environment variable that is set outside.
    pub environment_secret: Option<String>,
    /// A copy of this program in a granted folder, owned by root, mode 4755. All it does for others is to say who it is.
    pub setuid_program: Option<PathBuf>,
    /// A copy of this program in a granted folder, with a file capability set effective.
    pub capable_program: Option<PathBuf>,
    /// The host's name.
    pub hostname: Option<String>,
    /// The host's namespaces: kind (`net`, `pid`, …) to what `/proc/self/ns/KIND` reads as outside.
    pub namespaces: BTreeMap<String, String>,
    /// A control group outside the cage's own: the folder that holds its `cgroup.procs`, writable.
    pub control_group: Option<PathBuf>,
    /// A terminal of the host, such as `/dev/pts/7`, readable and writable by the user the cage runs as.
    pub terminal: Option<PathBuf>,
}

macro_rules! wanted {
    ($($name:ident: $kind:ty,)+) => {
        impl Decoys {
            $(pub(crate) fn $name(&self) -> Result<&$kind, Outcome> {
                self.$name.as_ref().ok_or_else(|| missing(stringify!($name)))
            })+
        }
    };
}

wanted! {
    file: PathBuf,
    file_content: String,
    folder: PathBuf,
    work: PathBuf,
    link_in_work: PathBuf,
    readonly: PathBuf,
    readonly_file: PathBuf,
    hidden: PathBuf,
    hidden_content: String,
    repository: PathBuf,
    process: i32,
    process_env_marker: String,
    process_argv_marker: String,
    tcp: SocketAddr,
    tcp6: SocketAddr,
    udp: SocketAddr,
    abstract_socket: String,
    datagram_socket: String,
    handing_socket: String,
    path_socket: PathBuf,
    link_local: SocketAddr,
    dns: SocketAddr,
    proxy: SocketAddr,
    proxy_refused_host: String,
    proxy_refused_answer: String,
    proxy_allowed_host: String,
    shared_memory: String,
    shared_memory_key: i32,
    semaphore_key: i32,
    queue_key: i32,
    queue_name: String,
    inherited_descriptor: i32,
    environment_secret: String,
    setuid_program: PathBuf,
    capable_program: PathBuf,
    hostname: String,
    control_group: PathBuf,
    terminal: PathBuf,
}

impl Decoys {
    /// What `/proc/self/ns/KIND` reads as outside.
    pub(crate) fn namespace(&self, kind: &str) -> Result<&String, Outcome> {
        self.namespaces.get(kind).ok_or_else(|| missing("namespaces"))
    }
}

fn missing(name: &str) -> Outcome {
    Outcome::CouldNotTry { why: format!("the decoy `{name}` is not set up") }
}
