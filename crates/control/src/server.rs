//! The listening side, on tokio: a task per client, none of which can hold up another.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_types::Problem;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use crate::address::Address;
use crate::answer::Answer;
use crate::desk::{Desk, Peer};
use crate::error::Error;
use crate::frame::{Hello, PROTOCOL, QUESTION_MAX, Question, Reply, Step, line};
use crate::request::Request;

/// How often a client that waits is told that work goes on.
const STILL_AT_IT: Duration = Duration::from_secs(2);

/// Steps kept for a client that is slow to read; more are dropped, since the next one says more anyway.
const STEPS_WAITING: usize = 8;

/// What a client that has not asked yet still gets when the server stops, and one that does not read.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// After a failed accept, for instance for want of file descriptors, before the next.
const BREATHE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients served at once; others wait at the door.
    pub clients_max: usize,
    /// Longest wait for a client to send its question or to take a line.
    pub client_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { clients_max: 256, client_timeout: Duration::from_secs(10) }
    }
}

/// Listens on the socket from [`Server::bind`] on, and answers while [`Server::serve`] runs.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// Which socket is ours: by the time this one goes, the next daemon may have put its own there.
    inode: u64,
    listener: UnixListener,
    limits: Limits,
    hello: Hello,
    own_uid: u32,
    permits: Arc<Semaphore>,
    clients: TaskTracker,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    clients: AtomicU64,
    refused: AtomicU64,
    next_id: AtomicU64,
    under_way: Mutex<BTreeMap<u64, Unfinished>>,
}

/// For the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub clients: u64,
    pub refused: u64,
}

/// A request that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub request: &'static str,
    pub peer: Peer,
    pub since: Instant,
    pub step: Option<Step>,
}

impl Server {
    /// Listens at `path`. A socket that a dead daemon left there is cleared away; one that answers is not.
    pub fn bind(path: &Path, limits: Limits, version: &str) -> Result<Server, Error> {
        let failed = |source| Error::Socket { path: path.to_owned(), source };
        clear_away(path)?;
        let address = Address::of(path).map_err(failed)?;
        let listener = std::os::unix::net::UnixListener::bind(address.path()).map_err(failed)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Server {
            path: path.to_owned(),
            inode: path.symlink_metadata().map_err(failed)?.ino(),
            listener: UnixListener::from_std(listener).map_err(failed)?,
            limits,
            hello: Hello { holdfast: version.to_owned(), protocol: PROTOCOL, pid: std::process::id() },
            own_uid: rustix::process::geteuid().as_raw(),
            permits: Arc::new(Semaphore::new(limits.clients_max)),
            clients: TaskTracker::new(),
            shared: Arc::default(),
        })
    }

    /// Answers until `stop`, then takes no more clients and returns when those that are here have their answers.
    /// Long work sees the stop through its watch. `alive` is called at least every few seconds. `again` is called when a client could not be
    /// accepted, and says whether there is reason to try again at once.
    pub async fn serve(
        &self,
        desk: Arc<dyn Desk>,
        stop: &CancellationToken,
        alive: impl Fn(),
        again: impl Fn(&io::Error) -> bool,
    ) {
        loop {
            alive();
            tokio::select! {
                // Dropping any of these loses nothing: an accepted client is always handed on at once.
                () = stop.cancelled() => break,
                () = tokio::time::sleep(Duration::from_secs(5)) => {}
                accepted = self.next_client() => match accepted {
                    Ok((stream, permit)) => {
                        let client = self.client(stream, desk.clone(), stop.clone());
                        self.clients.spawn(async move {
                            client.serve().await;
                            drop(permit);
                        });
                    }
                    Err(e) if again(&e) => {}
                    Err(e) => {
                        warn!(error = %e, "a client could not be accepted");
                        tokio::time::sleep(BREATHE).await;
                    }
                },
            }
        }
        self.clients.close();
        self.clients.wait().await;
    }

    pub fn counts(&self) -> Counts {
        Counts {
            clients: self.shared.clients.load(Ordering::Relaxed),
            refused: self.shared.refused.load(Ordering::Relaxed),
        }
    }

    /// Requests without an answer: after stopping, those that were cut off.
    pub fn under_way(&self) -> Vec<Unfinished> {
        self.shared.table().values().cloned().collect()
    }

    async fn next_client(&self) -> io::Result<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
        let permit = self.permits.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = self.listener.accept().await?;
        Ok((stream, permit))
    }

    fn client(&self, stream: UnixStream, desk: Arc<dyn Desk>, stop: CancellationToken) -> Client {
        Client {
            stream: BufReader::new(stream),
            desk,
            stop,
            timeout: self.limits.client_timeout,
            hello: self.hello.clone(),
            own_uid: self.own_uid,
            shared: self.shared.clone(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A socket that stays behind is harmless: nobody answers there, and the next bind clears it away.
        if self.path.symlink_metadata().is_ok_and(|about| about.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Shared {
    fn table(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Unfinished>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn clear_away(path: &Path) -> Result<(), Error> {
    match Address::of(path).and_then(|address| std::os::unix::net::UnixStream::connect(address.path())) {
        Ok(_) => Err(Error::Taken { path: path.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|source| Error::Socket { path: path.to_owned(), source })
        }
        // Not there, or something the bind will say in its own words.
        Err(_) => Ok(()),
    }
}

/// One client, from hello to answer.
struct Client {
    stream: BufReader<UnixStream>,
    desk: Arc<dyn Desk>,
    stop: CancellationToken,
    timeout: Duration,
    hello: Hello,
    own_uid: u32,
    shared: Arc<Shared>,
}

impl Client {
    async fn serve(mut self) {
        self.shared.clients.fetch_add(1, Ordering::Relaxed);
        if let Err(e) = self.talk().await {
            debug!(error = %e, "a client left or did not read");
        }
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
    }

    async fn talk(&mut self) -> io::Result<()> {
        let peer = self.peer()?;
        if peer.uid != 0 && peer.uid != self.own_uid {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            warn!(uid = peer.uid, pid = peer.pid, "a client of another user was refused");
            return self.send(&Reply::Problem(Error::NotYou { uid: peer.uid }.problem())).await;
        }
        let hello = self.hello.clone();
        self.send(&hello).await?;
        let reply = match self.question().await? {
            Err(problem) => Reply::Problem(problem),
            Ok(request) => self.work(peer, request).await?,
        };
        self.send(&reply).await
    }

    fn peer(&self) -> io::Result<Peer> {
        let cred = self.stream.get_ref().peer_cred()?;
        Ok(Peer { uid: cred.uid(), pid: cred.pid() })
    }

    async fn question(&mut self) -> io::Result<Result<Request, Problem>> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.stream).take(QUESTION_MAX as u64 + 1);
        let read = tokio::time::timeout(self.timeout, limited.read_until(b'\n', &mut bytes));
        tokio::select! {
            read = read => read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
            // Half a question is dropped with its client: nobody who has not asked holds up a stop.
            () = last_moment(&self.stop) => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        if bytes.len() > QUESTION_MAX {
            return Ok(Err(Error::TooLong { len: bytes.len(), max: QUESTION_MAX }.problem()));
        }
        if bytes.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read_question(&bytes).map_err(|e| e.problem()))
    }

    /// Has the desk carry it out on a thread that may block, and passes its steps on.
    async fn work(&mut self, peer: Peer, request: Request) -> io::Result<Reply> {
        let entry = UnderWay::new(self.shared.clone(), &request, peer);
        let (steps, mut coming) = mpsc::channel::<Step>(STEPS_WAITING);
        let gone = Arc::new(AtomicBool::new(false));
        let mut task = {
            let (desk, gone, stop) = (self.desk.clone(), gone.clone(), self.stop.clone());
            tokio::task::spawn_blocking(move || {
                let mut watch = |step: Step| {
                    entry.note(&step);
                    // A full channel means that the client is slow, and the next step will say more.
                    let _ = steps.try_send(step);
                    let leave = gone.load(Ordering::Relaxed) || stop.is_cancelled();
                    if leave { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                desk.answer(peer, request, &mut watch)
            })
        };
        let mut last = Step::still_at("working");
        loop {
            tokio::select! {
                // A step that is not taken now is taken the next time round; the task goes on whatever is dropped.
                ended = &mut task => return Ok(reply_of(ended)),
                Some(step) = coming.recv() => last = step,
                () = tokio::time::sleep(STILL_AT_IT) => {}
            }
            if let Err(e) = self.send(&Reply::Step(last.clone())).await {
                gone.store(true, Ordering::Relaxed);
                // Nobody reads the answer, but the work is not over before it says so.
                let _ = task.await;
                return Err(e);
            }
        }
    }

    async fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let bytes = line(value);
        let written = tokio::time::timeout(self.timeout, self.stream.get_mut().write_all(&bytes));
        tokio::select! {
            written = written => written.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
            // Nor does anybody who does not read.
            () = last_moment(&self.stop) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// Returns a moment after the stop.
async fn last_moment(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(LAST_MOMENT).await;
}

fn read_question(bytes: &[u8]) -> Result<Request, Error> {
    let garbled = |e: serde_json::Error| Error::Garbled { why: e.to_string() };
    // The number first: a newer client's request may be one that is not known here.
    #[derive(serde::Deserialize)]
    struct Spoken {
        protocol: u32,
    }
    let Spoken { protocol } = serde_json::from_slice(bytes).map_err(garbled)?;
    if protocol != PROTOCOL {
        return Err(Error::OtherProtocol { ours: PROTOCOL, theirs: protocol });
    }
    let question: Question = serde_json::from_slice(bytes).map_err(garbled)?;
    Ok(question.request)
}

fn reply_of(ended: Result<Result<Answer, Problem>, tokio::task::JoinError>) -> Reply {
    match ended {
        Ok(Ok(answer)) => Reply::Answer(answer),
        Ok(Err(problem)) => Reply::Problem(problem),
        // It panicked: a bug, told by the panic hook. The client learns that there is no answer.
        Err(_) => Reply::Problem(Error::Cut.problem()),
    }
}

/// A line of the table of unfinished requests, for as long as it is one.
struct UnderWay {
    shared: Arc<Shared>,
    id: u64,
}

impl UnderWay {
    fn new(shared: Arc<Shared>, request: &Request, peer: Peer) -> UnderWay {
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let entry = Unfinished { request: request.name(), peer, since: Instant::now(), step: None };
        shared.table().insert(id, entry);
        UnderWay { shared, id }
    }

    fn note(&self, step: &Step) {
        if let Some(entry) = self.shared.table().get_mut(&self.id) {
            entry.step = Some(step.clone());
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.shared.table().remove(&self.id);
    }
}
