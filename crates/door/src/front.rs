//! A proxy in front of us that ends TLS: who is one, and what is believed of what it says.
//!
//! Only declared addresses may connect then, so whatever a request says about its caller was said by a proxy or handed on by one. Each proxy adds
//! the address it was called from at the end of `X-Forwarded-For`; what stands further left was there before and may be anybody's invention. So
//! the caller is the right-most address that is no proxy of ours.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::HeaderMap;
use http::header::HeaderName;

use crate::client::Client;
use crate::error::{Error, Result};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The widest network that can be declared, in bits that are the same: more would be a part of the world and not of a house.
const V4_BITS_MIN: u8 = 8;
const V6_BITS_MIN: u8 = 32;
/// Where IPv4 addresses lie among those of IPv6.
const MAPPED_BITS: u8 = 96;

/// An address, or a network as `10.0.0.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address as one of IPv6, without what the mask leaves out.
    bits: u128,
    mask: u128,
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        bits_of(address) & self.mask == self.bits
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Network> {
        let bad = || Error::BadNetwork { text: text.chars().take(80).collect() };
        let (address, same) = match text.split_once('/') {
            None => (text, None),
            Some((address, same)) => (address, Some(same.parse::<u8>().map_err(|_| bad())?)),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let (before, least, most) =
            if address.is_ipv4() { (MAPPED_BITS, V4_BITS_MIN, 32) } else { (0, V6_BITS_MIN, 128) };
        let same = same.unwrap_or(most);
        if !(least..=most).contains(&same) {
            return Err(bad());
        }
        let mask = u128::MAX << (128 - u32::from(before + same));
        Ok(Network { bits: bits_of(address) & mask, mask })
    }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The proxies that may be in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    proxies: Vec<Network>,
}

/// Why a request that a proxy handed on is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The caller came unencrypted.
    Plain,
    /// The proxy does not say how the caller came, or not in one word.
    Unsaid,
}

impl Front {
    pub fn of(proxies: Vec<Network>) -> Front {
        Front { proxies }
    }

    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(address))
    }

    /// Who is at the other end of the proxy that connected.
    pub(crate) fn client(&self, proxy: &Client, headers: &HeaderMap) -> Result<Client, Unfit> {
        let mut said = headers.get_all(FORWARDED_PROTO).iter();
        match (said.next().map(|how| how.as_bytes().trim_ascii()), said.next()) {
            (Some(how), None) if how.eq_ignore_ascii_case(b"https") => {}
            (Some(how), None) if how.eq_ignore_ascii_case(b"http") => return Err(Unfit::Plain),
            _ => return Err(Unfit::Unsaid),
        }
        // A caller of a proxy has a port of its own, which nobody says.
        let address = SocketAddr::new(self.caller(proxy.address.ip(), headers), 0);
        Ok(Client { address, to: None, https: true })
    }

    /// The right-most that is no proxy; where something else stands, whoever wrote it there.
    fn caller(&self, proxy: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut caller = proxy;
        let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.as_bytes()).collect();
        let handed_on = lines.iter().rev().flat_map(|line| line.rsplit(|b| *b == b','));
        for item in handed_on {
            if !self.is_proxy(caller) {
                break;
            }
            let Some(address) = address_in(item) else { break };
            caller = address;
        }
        caller
    }
}

/// An address as proxies write it: some add the port, and then brackets around one of IPv6.
fn address_in(item: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(item).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    bare.parse::<IpAddr>().or_else(|_| with_port()).ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn front(proxies: &[&str]) -> Front {
        Front::of(proxies.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn proxy(address: &str) -> Client {
        Client { address: SocketAddr::new(address.parse().unwrap(), 4711), to: None, https: false }
    }

    // shows: GTW-F20
    #[test]
    fn the_caller_is_the_right_most_address_that_is_no_proxy() {
        let front = front(&["127.0.0.1", "10.1.0.0/16", "2001:db8::/32"]);
        let check = |lines: &[&str], wanted: &str| {
            let mut all = vec![("x-forwarded-proto", "https")];
            all.extend(lines.iter().map(|line| ("x-forwarded-for", *line)));
            let client = front.client(&proxy("127.0.0.1"), &headers(&all)).unwrap();
            assert_eq!((client.address.ip().to_string().as_str(), client.https), (wanted, true), "{lines:?}");
        };
        check(&["192.0.2.7"], "192.0.2.7");
        check(&["198.51.100.1, 192.0.2.7"], "192.0.2.7");
        check(&["198.51.100.1", "192.0.2.7"], "192.0.2.7");
        check(&["198.51.100.1, 192.0.2.7, 10.1.2.3"], "192.0.2.7");
        check(&["127.0.0.1, 192.0.2.7,10.1.2.3 , 2001:db8::9"], "192.0.2.7");
        check(&["192.0.2.7:5555"], "192.0.2.7");
        check(&["[2a00::7]:5555"], "2a00::7");
        check(&["::ffff:192.0.2.7"], "192.0.2.7");
        // What is no address was written by whoever stands to the right of it.
        check(&["unknown"], "127.0.0.1");
        check(&["192.0.2.7, unknown, 10.1.2.3"], "10.1.2.3");
        check(&["", "10.1.2.3"], "10.1.2.3");
        check(&[], "127.0.0.1");
    }

    #[test]
    fn only_what_came_encrypted_is_taken_and_it_is_said_once() {
        let front = front(&["127.0.0.1"]);
        let check = |lines: &[&str], wanted: Option<Unfit>| {
            let lines: Vec<_> = lines.iter().map(|line| ("x-forwarded-proto", *line)).collect();
            assert_eq!(front.client(&proxy("127.0.0.1"), &headers(&lines)).err(), wanted, "{lines:?}");
        };
        check(&["https"], None);
        check(&["HTTPS"], None);
        check(&["http"], Some(Unfit::Plain));
        check(&[], Some(Unfit::Unsaid));
        check(&["https, http"], Some(Unfit::Unsaid));
        check(&["https", "http"], Some(Unfit::Unsaid));
        check(&["wss"], Some(Unfit::Unsaid));
    }

    #[test]
    fn a_network_is_what_is_written_and_no_wider_than_a_house() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.1.2.3", "10.1.2.3") && contains("10.1.2.3", "::ffff:10.1.2.3"));
        assert!(!contains("10.1.2.3", "10.1.2.4"));
        assert!(contains("10.1.0.0/16", "10.1.255.1") && !contains("10.1.0.0/16", "10.2.0.1"));
        assert!(contains("10.1.9.9/16", "10.1.0.1"), "what the mask leaves out does not count");
        assert!(contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::1"));
        for text in
            ["", "10.0.0.0/7", "0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.0/", "proxy.lan", "10.0.0.1:80"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    proptest! {
        // shows: GTW-F20
        #[test]
        fn nothing_that_a_caller_writes_makes_it_another(forged in "[ -~]{0,60}", more in any::<[u8; 4]>()) {
            let front = front(&["127.0.0.1", "10.1.0.0/16"]);
            let caller = IpAddr::from([192, 0, 2, more[3]]);
            let handed_on = format!("{forged}, {caller}");
            let said = headers(&[("x-forwarded-proto", "https"), ("x-forwarded-for", &handed_on)]);
            prop_assert_eq!(front.client(&proxy("127.0.0.1"), &said).unwrap().address.ip(), caller);
            let own_line = headers(&[
                ("x-forwarded-proto", "https"),
                ("x-forwarded-for", &forged),
                ("x-forwarded-for", &caller.to_string()),
            ]);
            prop_assert_eq!(front.client(&proxy("127.0.0.1"), &own_line).unwrap().address.ip(), caller);
        }
    }
}
