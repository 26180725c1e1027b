//! What the wiring decides: names, services, and every limit with its reason.

use std::time::Duration;

use crate::front::Front;
use crate::host::HostName;
use crate::service::Service;

/// A request's head, its first line and fields together. Browsers stay below 16 KiB even with many cookies.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Fields in a head. Browsers send about 20.
pub const HEADERS_MAX: usize = 100;
/// The first line's path and query. What is longer belongs into a body.
pub const TARGET_BYTES_MAX: usize = 8 * 1024;
/// A chunk's size in hexadecimal; extensions are not taken, so nothing longer has a meaning.
pub const CHUNK_LINE_BYTES_MAX: usize = 16;
/// Requests at once on one HTTP/2 connection: what browsers use at most, and little enough that one connection cannot starve others.
pub const STREAMS_MAX: u32 = 128;

/// More are of no use to anybody here, however many descriptors there are.
const CONNECTIONS_MAX: usize = 8_192;
/// Descriptors that the door leaves to the rest of the process: the journal's segments, databases and their copies, targets' lines, the health
/// page, the local socket. A daemon at work has about a hundred open.
const RESERVE_MAX: usize = 1_024;

#[derive(Clone, Debug)]
pub struct Settings {
    /// The names of the gateway's own origin. A request for a name that is neither here nor a service's is refused.
    pub own: Vec<HostName>,
    pub services: Vec<Service>,
    pub limits: Limits,
    /// Where the redirect listener sends people; 443 is left out of addresses.
    pub https_port: u16,
    /// A proxy in front that ends TLS. Then it alone may connect, and says who calls.
    pub front: Option<Front>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once: about 20 KiB each when idle, so 8,192 are 160 MiB at worst. Each may need another descriptor toward a service:
    /// [`Limits::within`] has fewer where there are not enough.
    pub connections_max: usize,
    /// From this machine, all of its own addresses together. A tunnel makes everybody come from there, so it is most of all; the rest stays for
    /// those who come from elsewhere, whatever a program of this machine does.
    pub connections_from_here_max: usize,
    /// From one IPv4 address or one IPv6 /64. A household behind one address needs far fewer; a flood from one gets no further. Behind a proxy it is requests at once that are counted, for
    /// the caller that the proxy names.
    pub connections_per_address_max: usize,
    /// For the TLS handshake: two round trips, on the worst mobile line a few seconds.
    pub handshake_timeout: Duration,
    /// From a head's first byte (or the connection's first moment) to its last: whoever drips bytes is gone by then.
    pub head_timeout: Duration,
    /// Between requests on a kept connection; browsers give up on their own at about the same time.
    pub idle_timeout: Duration,
    /// Without a single byte of a request's body.
    pub body_idle_timeout: Duration,
    /// Without the client taking a single byte of what is ready for it.
    pub write_stall_timeout: Duration,
    /// For a service on this machine to accept a connection.
    pub connect_timeout: Duration,
    /// From the end of a request to the first byte of the service's answer.
    pub first_byte_timeout: Duration,
    /// Without a byte in a stream or tunnel once it flows. Long: quiet WebSockets are normal, dead ones are to go in the end.
    pub stream_idle_timeout: Duration,
    /// How long a stop waits for what is under way.
    pub drain_timeout: Duration,
    /// Connections to one service at once, tunnels included. Beyond it the answer is 503, and other services are unaffected.
    pub lanes_max: usize,
    /// Connections to all services together.
    pub lanes_total_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: CONNECTIONS_MAX,
            connections_from_here_max: from_here(CONNECTIONS_MAX),
            connections_per_address_max: 256,
            handshake_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_idle_timeout: Duration::from_secs(30),
            write_stall_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(60),
            stream_idle_timeout: Duration::from_secs(3600),
            drain_timeout: Duration::from_secs(10),
            lanes_max: 6_144,
            lanes_total_max: CONNECTIONS_MAX,
        }
    }
}

impl Limits {
    /// As many connections as fit a process that may open so many descriptors. A third of them, 1,024 at most, is left to others; what remains is
    /// halved between clients and services, so neither can take what the other needs.
    pub fn within(descriptors: usize) -> Limits {
        let reserve = (descriptors / 3).min(RESERVE_MAX);
        let each = ((descriptors - reserve) / 2).clamp(1, CONNECTIONS_MAX);
        let usual = Limits::default();
        Limits {
            connections_max: each,
            connections_from_here_max: from_here(each),
            connections_per_address_max: usual.connections_per_address_max.min(each.div_ceil(4)),
            lanes_total_max: each,
            lanes_max: usual.lanes_max.min(from_here(each)),
            ..usual
        }
    }
}

/// Three quarters.
fn from_here(connections_max: usize) -> usize {
    (connections_max - connections_max / 4).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_to_the_rest_of_the_process() {
        for descriptors in [3, 64, 256, 1_024, 4_096, 8_192, 20_480, 1 << 20] {
            let limits = Limits::within(descriptors);
            let taken = limits.connections_max + limits.lanes_total_max;
            assert!(taken <= descriptors - (descriptors / 3).min(RESERVE_MAX), "{descriptors}: {limits:?}");
            assert!(limits.connections_from_here_max <= limits.connections_max && limits.lanes_max >= 1);
            assert!(limits.connections_per_address_max >= 1);
        }
        assert_eq!(Limits::within(20_480), Limits::default(), "what the package's unit allows is enough");
        assert_eq!(Limits::within(1_024).connections_max, 341);
    }
}
