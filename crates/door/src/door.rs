//! Listening, and stopping so that nothing is lost.
//!
//! [`Door::serve`] owns every task: one per client, one per tunnel, one that tends certificates. Stopping takes no more clients,
//! lets what is under way finish within [`Limits::drain_timeout`], closes tunnels and event streams at once (browsers open them
//! again), and says how many connections were cut.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_types::Clock;
use http::{Request, Response};
use http_body::Body;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::util::ServiceExt as _;
use tracing::{info, warn};

use crate::activity::Roll;
use crate::body::{BoxError, Inbound, Outgoing};
use crate::certificates::Keeper;
use crate::client::{Client, Neighbourhood};
use crate::connection::{Face, attend};
use crate::crowd::{Crowd, Full, Slot};
use crate::error::{Error, Result};
use crate::front::Front;
use crate::host::Hosts;
use crate::listening::Listening;
use crate::relay::{Berth, Impostor};
use crate::service::Admit;
use crate::settings::{Limits, Settings};
use crate::tally::{Counts, Tally};
use crate::turned::{For, TurnedAway};

/// After a failed accept, for instance for want of file descriptors, before the next.
const BREATHE: Duration = Duration::from_millis(100);
/// How often the owner hears that the door is alive, and idle lanes are looked through.
const BEAT: Duration = Duration::from_secs(2);
/// For a place that is being made: whoever is closed only has to be woken. Nobody else is let in meanwhile.
const PLACE_WITHIN: Duration = Duration::from_millis(250);

/// Everything a connection needs to know.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) hosts: Hosts,
    pub(crate) berths: Vec<Berth>,
    pub(crate) limits: Limits,
    pub(crate) https_port: u16,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) own: Box<dyn Own>,
    pub(crate) admit: Arc<dyn Admit>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) tasks: TaskTracker,
    /// No more requests; what is under way may finish.
    pub(crate) stop: CancellationToken,
    /// Nothing may finish any more.
    pub(crate) kill: CancellationToken,
    /// Who is connected.
    crowd: Arc<Crowd>,
    /// What each of them is doing.
    pub(crate) roll: Arc<Roll>,
    /// Who asks, where it is a proxy that is connected.
    callers: Arc<Crowd>,
    pub(crate) front: Option<Front>,
}

impl Inner {
    /// Whether somebody at this address may speak to the main listener as it is.
    fn may_connect(&self, address: IpAddr) -> bool {
        match &self.front {
            Some(front) => front.is_proxy(address),
            None => !self.keeper.is_plain() || address.to_canonical().is_loopback(),
        }
    }

    /// A place for one request of a caller behind a proxy.
    pub(crate) fn seat(&self, address: IpAddr) -> Result<Arc<Slot>, Full> {
        self.callers.enter(address).map(Arc::new)
    }
}

#[derive(Debug)]
pub struct Door {
    inner: Arc<Inner>,
}

/// What the wiring has bound.
#[derive(Debug)]
pub struct Listeners {
    /// The address of the door, and others that are to lead to the same.
    pub main: Vec<StdListener>,
    /// Plain HTTP, for sending people on to the main one; makes sense only where that one is encrypted.
    pub redirect: Option<StdListener>,
}

/// How a stop went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections and tunnels that were not finished in time.
    pub cut: usize,
}

impl Door {
    /// Checks the settings and gets ready; nothing is listened on yet.
    pub fn open<S, B>(
        settings: Settings,
        keeper: Arc<Keeper>,
        own: S,
        admit: Arc<dyn Admit>,
        clock: Arc<dyn Clock>,
    ) -> Result<Door>
    where
        S: tower::Service<Request<Inbound>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let limits = settings.limits;
        let hosts = Hosts::of(&settings.own, settings.services.iter().map(|service| service.host()))?;
        let room = Arc::new(Semaphore::new(limits.lanes_total_max));
        let berth = |service| Berth::new(service, &limits, room.clone());
        let inner = Inner {
            hosts,
            berths: settings.services.into_iter().map(berth).collect(),
            limits,
            https_port: settings.https_port,
            keeper,
            own: Box::new(Tower(own)),
            admit,
            clock,
            tally: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            crowd: Crowd::new(
                limits.connections_max,
                limits.connections_per_address_max,
                limits.connections_from_here_max,
            ),
            roll: Arc::default(),
            callers: Crowd::new(
                usize::MAX,
                limits.connections_per_address_max,
                limits.connections_from_here_max,
            ),
            front: settings.front,
        };
        Ok(Door { inner: Arc::new(inner) })
    }

    /// Answers until `stop`, then drains. `alive` is called at least every few seconds. `again` is called when a client could not be accepted,
    /// and says whether there is reason to try again at once. A door serves once.
    pub async fn serve(
        &self,
        listeners: Listeners,
        stop: &CancellationToken,
        alive: impl Fn(),
        again: impl Fn(&std::io::Error) -> bool,
    ) -> Result<Drained> {
        let main = Listening::from_std(listeners.main).map_err(Error::Listener)?;
        let redirect =
            Listening::from_std(listeners.redirect.into_iter().collect()).map_err(Error::Listener)?;
        let plain = self.inner.keeper.is_plain();
        for address in main.addresses().map_err(Error::Listener)? {
            if plain && self.inner.front.is_none() && !address.ip().is_loopback() {
                return Err(Error::PlainBeyondLoopback { address });
            }
            info!(address = %address, encrypted = !plain, "the door is open");
        }
        self.inner.tasks.spawn(tend(self.inner.clone()));
        self.accept(&main, &redirect, stop, (&alive, &again)).await;
        // Closed before the wait: whoever comes now is refused by the system and can try the next one.
        drop((main, redirect));
        Ok(self.drain(alive).await)
    }

    pub fn counts(&self) -> Counts {
        self.inner.tally.counts(self.inner.crowd.total() as u64)
    }

    /// Who was turned away since this was last asked.
    pub fn turned_away(&self) -> Vec<TurnedAway> {
        self.inner.tally.turned.take()
    }

    /// Who answered in a service's place since this was last asked.
    pub fn impostors(&self) -> Vec<Impostor> {
        self.inner.berths.iter().filter_map(Berth::take_impostor).collect()
    }

    pub fn keeper(&self) -> &Arc<Keeper> {
        &self.inner.keeper
    }

    async fn accept(
        &self,
        main: &Listening,
        redirect: &Listening,
        stop: &CancellationToken,
        (alive, again): (&impl Fn(), &impl Fn(&std::io::Error) -> bool),
    ) {
        let mut beat = tokio::time::interval(BEAT);
        loop {
            let (face, accepted) = tokio::select! {
                // Dropping any of these loses nothing: an accepted client is always handed on at once.
                () = stop.cancelled() => return,
                _ = beat.tick() => {
                    alive();
                    self.inner.berths.iter().for_each(|berth| berth.lanes.sweep());
                    continue;
                }
                accepted = main.accept() => (Face::Main, accepted),
                accepted = redirect.accept() => (Face::Redirect, accepted),
            };
            match accepted {
                Ok((stream, peer)) => self.welcome(face, stream, peer).await,
                Err(e) if again(&e) => {}
                Err(e) => {
                    warn!(error = %e, "a client could not be accepted");
                    tokio::time::sleep(BREATHE).await;
                }
            }
        }
    }

    /// Whoever is too many is let go without a word: words would cost what the limit is to save.
    async fn welcome(&self, face: Face, stream: TcpStream, peer: SocketAddr) {
        let tally = &self.inner.tally;
        if face == Face::Main && !self.inner.may_connect(peer.ip()) {
            tally.turn_away(For::Plain, peer.ip());
            return;
        }
        let client = Client { address: peer, to: stream.local_addr().ok(), https: false };
        match self.place(client.neighbourhood()).await {
            Ok(slot) => {
                tally.connections.up();
                self.inner.tasks.spawn(attend(self.inner.clone(), face, stream, peer, slot));
            }
            Err(Full::House) => tally.turn_away(For::HouseFull, peer.ip()),
            Err(Full::Neighbourhood) => tally.turn_away(For::NeighbourhoodFull, peer.ip()),
        }
    }

    /// A place for one more. When there is none, whoever has waited longest for nothing makes room.
    async fn place(&self, of: Neighbourhood) -> Result<Slot, Full> {
        let from = self.inner.front.is_none().then_some(of);
        let full = match self.inner.crowd.enter_from(from) {
            Ok(slot) => return Ok(slot),
            Err(full) => full,
        };
        let among = if full == Full::Neighbourhood { from } else { None };
        let shed = self.inner.roll.shed(among);
        if shed.is_empty() {
            return Err(full);
        }
        for activity in shed {
            self.inner.tally.turn_away(For::Idle, activity.client.address.ip());
        }
        self.inner.crowd.enter_soon(from, PLACE_WITHIN).await
    }

    async fn drain(&self, alive: impl Fn()) -> Drained {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        let deadline = tokio::time::Instant::now() + self.inner.limits.drain_timeout;
        let mut beat = tokio::time::interval(BEAT);
        let cut = loop {
            tokio::select! {
                // Each of these only looks.
                () = self.inner.tasks.wait() => break 0,
                () = tokio::time::sleep_until(deadline) => break self.inner.tasks.len(),
                _ = beat.tick() => alive(),
            }
        };
        self.inner.kill.cancel();
        self.inner.tasks.wait().await;
        info!(cut, "the door is closed");
        Drained { cut }
    }
}

/// Looks after certificates until the stop. A round that is cut short is taken up at the next start.
async fn tend(inner: Arc<Inner>) {
    loop {
        tokio::select! {
            () = inner.stop.cancelled() => return,
            () = inner.keeper.tend() => {}
        }
        tokio::select! {
            () = inner.stop.cancelled() => return,
            () = tokio::time::sleep(inner.keeper.pause()) => {}
        }
    }
}

/// The gateway's own app, whatever it is made of.
pub(crate) trait Own: Send + Sync + fmt::Debug {
    fn answer(&self, request: Request<Inbound>) -> Pin<Box<dyn Future<Output = Response<Outgoing>> + Send>>;
}

struct Tower<S>(S);

impl<S> fmt::Debug for Tower<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tower")
    }
}

impl<S, B> Own for Tower<S>
where
    S: tower::Service<Request<Inbound>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn answer(&self, request: Request<Inbound>) -> Pin<Box<dyn Future<Output = Response<Outgoing>> + Send>> {
        let own = self.0.clone();
        Box::pin(async move {
            match own.oneshot(request).await {
                Ok(response) => response.map(Outgoing::own),
                Err(never) => match never {},
            }
        })
    }
}
