//! What every answer of ours says about itself, so that browsers are strict with it.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY as CSP, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Everything from here, nothing inline, no frame around it.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Only passkeys, and only on our own pages.
const PERMISSIONS: &str = "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), \
    microphone=(), geolocation=(), payment=(), usb=(), serial=(), hid=(), midi=(), display-capture=()";

/// Two years, as browsers ask of those who mean it. Only this host: services beside us have their own say.
const TRANSPORT: &str = "max-age=63072000";

/// The headers of an answer, those that only make sense over https included when it is.
pub fn headers(https: bool) -> Vec<(HeaderName, HeaderValue)> {
    let mut all = vec![
        (CSP, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // Not no-referrer: with that a form of ours would come with the origin `null`.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS)),
    ];
    if https {
        all.push((STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(TRANSPORT)));
    }
    all
}

/// Puts them on an answer. What says nothing about being kept is not kept.
pub fn dress(answer: &mut HeaderMap, https: bool) {
    for (name, value) in headers(https) {
        answer.insert(name, value);
    }
    answer.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_are_these() {
        let text = |https| {
            let lines = headers(https).into_iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap()));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(text(true));
        assert!(!text(false).contains("strict-transport"));
    }

    #[test]
    fn nothing_is_kept_unless_it_says_so() {
        let mut plain = HeaderMap::new();
        dress(&mut plain, true);
        assert_eq!(plain[CACHE_CONTROL], "no-store");
        let mut asset = HeaderMap::new();
        asset.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        dress(&mut asset, true);
        assert_eq!(asset[CACHE_CONTROL], "public, immutable");
    }
}
