//! A part of the daemon, and what each of its lives is given.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Whether the machine is less safe without the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Silent or down, the daemon is unhealthy.
    Safety,
    /// Silent or down, the daemon is degraded.
    Service,
}

/// In which wave a part is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wave {
    /// Takes work from outside: stops first, so that nothing new begins.
    Door,
    /// Does the work: stops when the doors are closed.
    Work,
}

/// Why a life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(e) = cause {
            text.push_str(&format!(": {e}"));
            cause = e.source();
        }
        Failed(text)
    }
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Result<(), Failed>> + Send>>;

/// One supervised part.
pub struct Part {
    pub name: &'static str,
    pub importance: Importance,
    pub wave: Wave,
    /// Longest silence of a part that is well.
    pub stale_after: Duration,
    pub(crate) begin: Box<dyn Fn(Life) -> Running + Send + Sync>,
}

impl Part {
    pub fn new<F>(
        name: &'static str,
        importance: Importance,
        wave: Wave,
        stale_after: Duration,
        begin: impl Fn(Life) -> F + Send + Sync + 'static,
    ) -> Part
    where
        F: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        Part { name, importance, wave, stale_after, begin: Box::new(move |life| Box::pin(begin(life))) }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What one life of a part is given.
#[derive(Clone, Debug)]
pub struct Life {
    /// Cancelled when the part is to stop. A part that ends after that has stopped well.
    pub stop: CancellationToken,
    pub beat: Beat,
}

/// How a part shows that it is alive.
#[derive(Clone, Debug)]
pub struct Beat {
    began: Instant,
    last_millis: Arc<AtomicU64>,
}

impl Beat {
    pub(crate) fn new() -> Beat {
        Beat { began: Instant::now(), last_millis: Arc::new(AtomicU64::new(0)) }
    }

    pub fn now(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_millis.store(millis, Ordering::Relaxed);
    }

    /// How long the part has been silent.
    pub fn age(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last_millis.load(Ordering::Relaxed)))
    }

    /// Waits for something, beating meanwhile: a part that waits is alive.
    pub async fn while_waiting<T>(&self, every: Duration, future: impl Future<Output = T>) -> T {
        tokio::pin!(future);
        loop {
            self.now();
            tokio::select! {
                done = &mut future => return done,
                // Dropping a sleep loses nothing.
                () = tokio::time::sleep(every) => {}
            }
        }
    }
}
