//! What is asked of the proxy.

/// The longest head of a request that is read.
pub(super) const HEAD_MAX: usize = 16 << 10;

/// Whom a request is for, and what to send there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) port: u16,
    /// The head to pass on; nothing where a tunnel is wanted.
    pub(super) forward: Option<Vec<u8>>,
}

impl Asked {
    /// Reads a head that ends with an empty line. What could be read in two ways is not read at all.
    pub(super) fn parse(head: &[u8]) -> Option<Asked> {
        let text = str::from_utf8(head).ok()?.strip_suffix("\r\n\r\n")?;
        if text.bytes().any(|b| b == 0 || (b < 0x20 && !matches!(b, b'\r' | b'\n' | b'\t'))) {
            return None;
        }
        if text.split("\r\n").any(|line| line.contains(['\r', '\n'])) {
            return None;
        }
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let headers: Vec<(&str, &str)> = lines.map(header).collect::<Option<_>>()?;
        let plain = !method.is_empty()
            && method.bytes().all(|b| b.is_ascii_uppercase())
            && target.bytes().all(|b| b.is_ascii_graphic());
        if !plain || words.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            return Some(Asked { host: host_name(host)?, port: port_number(port)?, forward: None });
        }
        let rest = target.strip_prefix("http://")?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an address of the newer kind are within brackets.
            Some((host, port)) if !port.ends_with(']') => (host, port_number(port)?),
            Some(_) => (authority, 80),
            None => (authority, 80),
        };
        let hosts: Vec<&str> = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| *value)
            .collect();
        if hosts.len() > 1 || hosts.first().is_some_and(|named| !named.eq_ignore_ascii_case(authority)) {
            return None;
        }
        let host = host_name(host)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let mut forward = format!("{method} {path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
        for (name, value) in headers {
            let own =
                ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "upgrade"];
            if !own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                forward.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        forward.push_str("\r\n");
        Some(Asked { host, port, forward: Some(forward.into_bytes()) })
    }
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let plain =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    plain.then_some((name, value.trim()))
}

/// Digits alone: no sign, and no zero before them.
fn port_number(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok()?;
    (port > 0 && port.to_string() == text).then_some(port)
}

/// A name, or an address; nobody's user and password before it.
fn host_name(host: &str) -> Option<String> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let good = match bare {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.len() <= 253 && host.bytes().all(named),
    };
    good.then(|| bare.unwrap_or(host).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Option<Asked> {
        Asked::parse(head.as_bytes())
    }

    #[test]
    fn tunnels_and_whole_addresses_are_read() {
        let tunnel = parse("CONNECT API.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.forward), ("api.example.org", 443, None));
        let plain = parse(
            "GET http://example.org:8080/a?b HTTP/1.1\r\nHost: example.org:8080\r\nProxy-Connection: x\r\nA: b\r\n\r\n",
        );
        let plain = plain.unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("example.org", 8080));
        let forward = String::from_utf8(plain.forward.unwrap()).unwrap();
        assert_eq!(
            forward,
            "GET /a?b HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\nA: b\r\n\r\n"
        );
        let newer = parse("GET http://[2606:4700::1]/ HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((newer.host.as_str(), newer.port), ("2606:4700::1", 80));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        for head in [
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nHost: b.org\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nHost : a.org\r\n\r\n",
            "GET http://user:pw@a.org/ HTTP/1.1\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "CONNECT a.org:443 HTTP/2\r\n\r\n",
            "CONNECT a.org:443 x HTTP/1.1\r\n\r\n",
            "CONNECT a.org%00.b.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:99999 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:+443 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:0443 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:0 HTTP/1.1\r\n\r\n",
            "CONNECT user@a.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT [::1%lo]:443 HTTP/1.1\r\n\r\n",
            "CONNECT ::1:443 HTTP/1.1\r\n\r\n",
            "GET\t/x http://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/\tx HTTP/1.1\r\n\r\n",
            " http://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org#@b.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org\\@b.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org:80:81/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA: b\r\n Host: b.org\r\n\r\n",
            "GET http://a.org/\nX HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\r\nA: b\nHost: b.org\r\n\r\n",
        ] {
            assert_eq!(parse(head), None, "{head:?}");
        }
    }
}
