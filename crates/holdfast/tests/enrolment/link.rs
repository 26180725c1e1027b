//! A link between this machine and a host that can be slow and can be cut.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub struct Link {
    port: u16,
    state: Arc<State>,
}

struct State {
    to: SocketAddr,
    delay_ms: AtomicU64,
    /// Bytes that may still be sent to the host; then nothing goes through until it is healed.
    left: AtomicU64,
    /// Connections that may still be made; those that are there stay.
    connections: AtomicU64,
    is_cut: AtomicBool,
}

const WHOLE: u64 = u64::MAX / 2;

impl Link {
    pub fn listening(address: &str, to: SocketAddr) -> Link {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            to,
            delay_ms: AtomicU64::new(0),
            left: AtomicU64::new(WHOLE),
            connections: AtomicU64::new(WHOLE),
            is_cut: AtomicBool::new(false),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let state = shared.clone();
                std::thread::spawn(move || carry(near, &state));
            }
        });
        Link { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn delay(&self, ms: u64) {
        self.state.delay_ms.store(ms, Ordering::Relaxed);
    }

    pub fn cut_after(&self, bytes: u64) {
        self.state.left.store(bytes, Ordering::Relaxed);
    }

    /// Those that are made after so many more find nobody.
    pub fn admit(&self, connections: u64) {
        self.state.connections.store(connections, Ordering::Relaxed);
    }

    /// Nothing goes through any more, at once.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::Relaxed);
    }

    pub fn heal(&self) {
        self.state.left.store(WHOLE, Ordering::Relaxed);
        self.state.connections.store(WHOLE, Ordering::Relaxed);
        self.state.is_cut.store(false, Ordering::Relaxed);
    }
}

fn carry(near: TcpStream, state: &Arc<State>) {
    let admitted =
        state.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    if state.left.load(Ordering::Relaxed) == 0 || state.is_cut.load(Ordering::Relaxed) || admitted.is_err() {
        return;
    }
    let Ok(far) = TcpStream::connect(state.to) else { return };
    let (from, to, shared) = (near.try_clone().unwrap(), far.try_clone().unwrap(), state.clone());
    let there = std::thread::spawn(move || copy(from, to, &shared, true));
    copy(far, near, state, false);
    let _ = there.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream, state: &State, counted: bool) {
    let mut piece = [0; 16 << 10];
    // Somebody has to look whether it was cut.
    from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    loop {
        let read = match from.read(&mut piece) {
            _ if state.is_cut.load(Ordering::Relaxed) => break,
            Ok(0) => break,
            Ok(read) => read,
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                continue;
            }
            Err(_) => break,
        };
        std::thread::sleep(Duration::from_millis(state.delay_ms.load(Ordering::Relaxed)));
        let mut sent = read as u64;
        if counted {
            let left = state.left.load(Ordering::Relaxed);
            sent = sent.min(left);
            if left < WHOLE {
                state.left.store(left - sent, Ordering::Relaxed);
            }
        }
        let is_whole = to.write_all(&piece[..sent as usize]).is_ok() && sent == read as u64;
        if !is_whole {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
