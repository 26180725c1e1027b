//! What is counted, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::turned::Turned;

/// How often each thing happened since the start, but for the first, which is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub connections_open: u64,
    pub connections: u64,
    pub refused_house_full: u64,
    pub refused_neighbourhood_full: u64,
    /// Connections that waited for their client and were closed so that others could come in.
    pub made_room: u64,
    /// Plain HTTP from beyond loopback, or from nobody who was declared as a proxy, or through one that does not say that it came encrypted.
    pub refused_plain: u64,
    pub handshakes_failed: u64,
    /// Heads, bodies, idle connections and stalled readers that took too long.
    pub timed_out: u64,
    /// Bytes that were no plain request.
    pub malformed: u64,
    /// HTTP/2 connections that were cut off for frames that are worth nothing: requests made and taken back, pings, settings.
    pub flooded: u64,
    /// Requests for a path that could become another, or for two hosts at once.
    pub confusing: u64,
    pub unknown_host: u64,
    pub own: u64,
    pub proxied: u64,
    pub tunnels: u64,
    pub tunnels_open: u64,
    pub not_admitted: u64,
    pub foreign_origin: u64,
    pub body_too_large: u64,
    pub bad_gateway: u64,
    pub gateway_timeout: u64,
    pub service_busy: u64,
    /// Requests that were kept back because somebody else answers where a service should.
    pub service_foreign: u64,
    pub repeated: u64,
    pub lanes_reused: u64,
    pub lanes_opened: u64,
    pub ended_with_session: u64,
    pub redirected: u64,
}

macro_rules! tally {
    ($($name:ident),* $(,)?) => {
        #[derive(Debug, Default)]
        pub(crate) struct Tally {
            $(pub(crate) $name: Count,)*
            /// Who was turned away of late.
            pub(crate) turned: Turned,
        }

        impl Tally {
            pub(crate) fn counts(&self, connections_open: u64) -> Counts {
                Counts { connections_open, $($name: self.$name.get()),* }
            }
        }
    };
}

tally!(
    connections,
    refused_house_full,
    refused_neighbourhood_full,
    made_room,
    refused_plain,
    handshakes_failed,
    timed_out,
    malformed,
    flooded,
    confusing,
    unknown_host,
    own,
    proxied,
    tunnels,
    tunnels_open,
    not_admitted,
    foreign_origin,
    body_too_large,
    bad_gateway,
    gateway_timeout,
    service_busy,
    service_foreign,
    repeated,
    lanes_reused,
    lanes_opened,
    ended_with_session,
    redirected,
);

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
