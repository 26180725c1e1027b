//! The plain listener beside an encrypted one: it sends people on, and answers the certificate authority's question.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::answer;
use crate::body::Outgoing;
use crate::door::Inner;
use crate::host::without_port;
use crate::target;
use crate::turned::For;
use crate::wire::Line;

/// Where an authority looks for what proves that a name is ours (RFC 8555, 8.3).
const CHALLENGES: &str = "/.well-known/acme-challenge/";
const HTTPS: u16 = 443;

pub(crate) async fn receive(
    door: Arc<Inner>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let in_flight = line.begin();
    Ok(answer_to(&door, line.client.address.ip(), &request).map(|body| body.until_gone(in_flight)))
}

fn answer_to(door: &Inner, from: IpAddr, request: &Request<Incoming>) -> Response<Outgoing> {
    let path = request.uri().path();
    if let Some(token) = path.strip_prefix(CHALLENGES)
        && let Some(proof) = door.keeper.challenge(token)
    {
        return Response::new(Outgoing::short(Bytes::from(proof)));
    }
    encrypted(door, from, request)
}

/// The same place, encrypted.
pub(crate) fn encrypted(door: &Inner, from: IpAddr, request: &Request<Incoming>) -> Response<Outgoing> {
    let aimed = target::authority(request.uri(), request.headers(), request.version());
    let (Ok(host), Ok(())) = (aimed, target::check_path(request.uri().path())) else {
        door.tally.turn_away(For::Confusing, from);
        return answer::plain(StatusCode::BAD_REQUEST);
    };
    // Only to a name of ours: an open redirect would lend our name to anybody.
    match without_port(host) {
        Some(name) if door.hosts.place(host).is_some() => {
            door.tally.redirected.up();
            let rest = request.uri().path_and_query().map_or("/", |rest| rest.as_str());
            answer::go_to(StatusCode::PERMANENT_REDIRECT, &address(name, door.https_port, rest))
        }
        _ => {
            door.tally.turn_away(For::UnknownHost, from);
            answer::plain(StatusCode::MISDIRECTED_REQUEST)
        }
    }
}

fn address(name: &str, port: u16, rest: &str) -> String {
    let name = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
    if port == HTTPS { format!("https://{name}{rest}") } else { format!("https://{name}:{port}{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_is_named_encrypted() {
        assert_eq!(address("a.example", 443, "/x?y=1"), "https://a.example/x?y=1");
        assert_eq!(address("a.example", 9096, "/"), "https://a.example:9096/");
        assert_eq!(address("::1", 9096, "/"), "https://[::1]:9096/");
    }
}
