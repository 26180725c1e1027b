//! Several addresses that are listened on as if they were one: both loopbacks, for instance.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::net::{TcpListener, TcpStream};

/// Listeners of which any may bring the next client.
#[derive(Debug)]
pub struct Listening {
    all: Vec<TcpListener>,
    /// Which of them is asked first; they take turns, so that none can keep the others waiting.
    first: AtomicUsize,
}

impl Listening {
    /// On the runtime that calls it.
    pub fn from_std(all: Vec<StdListener>) -> io::Result<Listening> {
        let one = |listener: StdListener| {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        Ok(Listening {
            all: all.into_iter().map(one).collect::<io::Result<_>>()?,
            first: AtomicUsize::new(0),
        })
    }

    /// The next client. Dropping this loses nobody.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        std::future::poll_fn(|cx| self.poll_accept(cx)).await
    }

    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.all.iter().map(TcpListener::local_addr).collect()
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let first = self.first.fetch_add(1, Ordering::Relaxed);
        let count = self.all.len();
        let in_turn = (0..count).filter_map(|n| self.all.get(first.wrapping_add(n) % count));
        for listener in in_turn {
            if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    }
}
