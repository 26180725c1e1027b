//! The service behind the door: it writes down what reaches it, and does what the path says.

use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};

use holdfast_door::To;

type Boxed = UnsyncBoxBody<Bytes, Infallible>;

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Origin {
    pub(crate) seen: Mutex<Vec<Seen>>,
    /// Bytes of bodies that have arrived, counted as they come.
    pub(crate) received: AtomicU64,
    /// Bytes of bodies that were handed out.
    pub(crate) sent: Arc<AtomicU64>,
    pub(crate) connections: AtomicUsize,
    pub(crate) open: AtomicUsize,
}

impl Origin {
    pub(crate) async fn on_loopback() -> (Arc<Origin>, To) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = To::Tcp(listener.local_addr().unwrap());
        let origin = Arc::new(Origin::default());
        let serving = origin.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                serving.clone().attend(stream);
            }
        });
        (origin, to)
    }

    pub(crate) fn on_socket(path: &Path) -> (Arc<Origin>, To) {
        let listener = UnixListener::bind(path).unwrap();
        let origin = Arc::new(Origin::default());
        let serving = origin.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.clone().attend(stream);
            }
        });
        (origin, To::Unix(path.to_owned()))
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }

    fn attend(self: Arc<Origin>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        self.connections.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            let origin = self.clone();
            let service = service_fn(move |request| origin.clone().answer(request));
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades();
            let _ = connection.await;
            self.open.fetch_sub(1, Ordering::SeqCst);
        });
    }

    async fn answer(
        self: Arc<Origin>,
        request: Request<Incoming>,
    ) -> Result<Response<Boxed>, std::io::Error> {
        let path = request.uri().path().to_owned();
        let n: u64 = path.rsplit('/').next().and_then(|last| last.parse().ok()).unwrap_or(0);
        let mut seen = Seen {
            method: request.method().to_string(),
            target: request.uri().to_string(),
            headers: request.headers().clone(),
            body: 0,
        };
        if path == "/early" {
            self.note(seen);
            return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, "enough"));
        }
        if path == "/upgrade" {
            self.note(seen);
            return Ok(upgrade(request));
        }
        let mut body = request.into_body();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                // Broken off: written down as it is, so that a test can tell.
                seen.method = format!("broken {}", seen.method);
                self.note(seen);
                return Err(std::io::ErrorKind::ConnectionAborted.into());
            };
            let more = frame.data_ref().map_or(0, |data| data.len() as u64);
            seen.body += more;
            self.received.fetch_add(more, Ordering::SeqCst);
            if path == "/drink-slowly" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        self.note(seen.clone());
        match path.split('/').nth(1).unwrap_or("") {
            "bytes" => {
                Ok(Response::new(Made { left: n, piece: 16 * 1024, sent: self.sent.clone() }.boxed_unsync()))
            }
            "never" => std::future::pending().await,
            "hang-up" => Err(std::io::ErrorKind::ConnectionAborted.into()),
            "later" => {
                tokio::time::sleep(Duration::from_millis(n)).await;
                Ok(plain(StatusCode::OK, "later"))
            }
            "events" => Ok(events()),
            "half" => Ok(half()),
            "switch" => {
                let mut answer = plain(StatusCode::SWITCHING_PROTOCOLS, "");
                answer.headers_mut().insert(header::UPGRADE, "websocket".parse().unwrap());
                Ok(answer)
            }
            "cookies" => Ok(cookies()),
            "status" => Ok(plain(
                StatusCode::from_u16(u16::try_from(n).unwrap()).unwrap(),
                if n == 204 { "" } else { "s" },
            )),
            "large-head" => {
                let mut answer = plain(StatusCode::OK, "");
                answer
                    .headers_mut()
                    .insert("x-large", "y".repeat(usize::try_from(n).unwrap()).parse().unwrap());
                Ok(answer)
            }
            _ => Ok(plain(StatusCode::OK, &format!("{} {} {}", seen.method, seen.target, seen.body))),
        }
    }

    fn note(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Response<Boxed> {
    let body = http_body_util::Full::new(Bytes::copy_from_slice(text.as_bytes()));
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    response
}

/// Cookies that reach too far, and headers that end here.
fn cookies() -> Response<Boxed> {
    let mut answer = plain(StatusCode::OK, "cookies");
    for (name, value) in [
        ("set-cookie", "own=1; Path=/"),
        ("set-cookie", "wide=1; Domain=localhost; Path=/"),
        ("set-cookie", "holdfast-session=forged"),
        ("set-cookie", "__Host-holdfast=forged; Secure; Path=/"),
        ("clear-site-data", "\"cookies\""),
        ("alt-svc", "h3=\":1\""),
        ("x-holdfast-role", "owner"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("x-kept", "1"),
    ] {
        answer.headers_mut().append(name, value.parse().unwrap());
    }
    answer
}

/// One event, and then nothing for ever.
fn events() -> Response<Boxed> {
    let (to, from) = tokio::sync::mpsc::unbounded_channel();
    to.send(Bytes::from_static(b"data: hello\n\n")).unwrap();
    let mut answer = Response::new(Fed { from, _held: Some(to) }.boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_TYPE, "text/event-stream".parse().unwrap());
    answer
}

/// Promises ten bytes and gives five, then holds.
fn half() -> Response<Boxed> {
    let (to, from) = tokio::sync::mpsc::unbounded_channel();
    to.send(Bytes::from_static(b"12345")).unwrap();
    let mut answer = Response::new(Fed { from, _held: Some(to) }.boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_LENGTH, "10".parse().unwrap());
    answer
}

/// Echoes what comes after the upgrade, in capitals where it is a letter, to show that it went through here.
fn upgrade(mut request: Request<Incoming>) -> Response<Boxed> {
    let on = hyper::upgrade::on(&mut request);
    let protocol = request.headers()[header::UPGRADE].clone();
    tokio::spawn(async move {
        let Ok(upgraded) = on.await else { return };
        let mut stream = TokioIo::new(upgraded);
        let mut buffer = [0; 1024];
        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
            buffer[..n].make_ascii_uppercase();
            if stream.write_all(&buffer[..n]).await.is_err() {
                return;
            }
        }
    });
    let mut answer = plain(StatusCode::SWITCHING_PROTOCOLS, "");
    answer.headers_mut().insert(header::CONNECTION, "upgrade".parse().unwrap());
    answer.headers_mut().insert(header::UPGRADE, protocol);
    answer
}

/// A body made as it is asked for.
struct Made {
    left: u64,
    piece: u64,
    sent: Arc<AtomicU64>,
}

impl Body for Made {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let n = this.left.min(this.piece);
        this.left -= n;
        this.sent.fetch_add(n, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; usize::try_from(n).unwrap()])))))
    }
}

/// A body that is fed from elsewhere.
struct Fed {
    from: tokio::sync::mpsc::UnboundedReceiver<Bytes>,
    _held: Option<tokio::sync::mpsc::UnboundedSender<Bytes>>,
}

impl Body for Fed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().from.poll_recv(cx).map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}
