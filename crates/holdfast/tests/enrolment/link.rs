//! A link between this machine and a host that can be slow and can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
}

const WHOLE: u64 = u64::MAX / 2;

impl Link {
    pub fn listening(address: &str, to: SocketAddr) -> Link {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { to, delay_ms: AtomicU64::new(0), left: AtomicU64::new(WHOLE) });
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

    pub fn heal(&self) {
        self.state.left.store(WHOLE, Ordering::Relaxed);
    }
}

fn carry(near: TcpStream, state: &Arc<State>) {
    if state.left.load(Ordering::Relaxed) == 0 {
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
    while let Ok(read @ 1..) = from.read(&mut piece) {
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
