//! Pages that are looked at, and calls to interfaces.

use std::io::{Read as _, Write as _};
use std::sync::mpsc::channel;

use holdfast_probe::{Answer, HttpError, Method, Plain, Request, http};

use crate::peer::{PLENTY, answer, assert_found, found, heard, now, page, peer};

// shows: STW-285
#[test]
fn a_page_is_judged_by_its_status_and_its_text() {
    let cases = [
        (answer(200, "all is well"), r#""contains":"is well""#, "passed", ""),
        (answer(200, "all is well"), r#""contains":"is ill""#, "failed", "does not have the text"),
        (answer(200, ""), r#""contains":"x""#, "failed", "does not have the text"),
        (answer(204, ""), r#""status":204"#, "passed", ""),
        (answer(200, ""), r#""status":204"#, "failed", "status 200"),
        (answer(401, ""), r#""status":401"#, "passed", ""),
        (answer(401, "x"), r#""contains":"x""#, "failed", "status 401"),
        (answer(500, "x"), r#""contains":"x""#, "failed", "status 500"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".into(), r#""contains":"x""#, "failed", "early"),
        ("HTTP/1.1 2oo OK\r\n\r\n".into(), r#""contains":"x""#, "failed", "not HTTP"),
    ];
    for (says, wanted, expected, part) in cases {
        let look = format!(r#"{{"http":{{"url":"http://{}/",{wanted}}}}}"#, page(says));
        assert_found(&found(&look), expected, part);
    }
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = peer(|_| panic!("it was followed"));
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    let moved = page(moved);
    assert_found(&found(&format!(r#"{{"http":{{"url":"http://{moved}/"}}}}"#)), "passed", "");
    assert_found(&found(&format!(r#"{{"http":{{"url":"http://{moved}/","status":200}}}}"#)), "failed", "302");
    let call = Request::new(Method::Get, format!("http://{moved}/").parse().unwrap());
    assert_eq!(http(&call, PLENTY, now()).unwrap().status, 302);
}

#[test]
fn a_call_says_what_it_was_given_and_nothing_it_may_not() {
    let (tell, told) = channel();
    let server = peer(move |mut visitor| {
        let head = heard(&mut visitor);
        let mut body = [0; 7];
        visitor.read_exact(&mut body).unwrap();
        tell.send((head, body)).unwrap();
        visitor.write_all(answer(202, "taken").as_bytes()).unwrap();
    });
    let call = Request::new(Method::Post, format!("http://{server}/v1/reset?hard=1").parse().unwrap())
        .header("Authorization", "Bearer hunter2")
        .and_then(|it| it.header("Content-Type", "application/json"))
        .unwrap()
        .body(b"{\"a\":1}".to_vec());
    let answered = http(&call, PLENTY, now());
    assert_eq!(answered, Ok(Answer { status: 202, body: b"taken".to_vec(), whole: true }));
    let (head, body) = told.recv_timeout(PLENTY).unwrap();
    assert_eq!(&body, b"{\"a\":1}");
    let expected = format!(
        "POST /v1/reset?hard=1 HTTP/1.1\r\nHost: {server}\r\nUser-Agent: holdfast/{}\r\nAccept-Encoding: identity\r\n\
         Connection: close\r\nContent-Length: 7\r\nAuthorization: Bearer hunter2\r\nContent-Type: application/json\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(head, expected);
}

#[test]
fn a_header_cannot_smuggle_another_and_its_value_is_in_no_message() {
    let call = || Request::new(Method::Get, "https://example.org/hooks/hunter2".parse().unwrap());
    for (name, value) in [
        ("X", "hunter2\r\nHost: x"),
        ("X", "hunter2\n"),
        ("X", "hunter2\0"),
        ("X", "hunter2ü"),
        ("X Y", "hunter2"),
        ("X:", "hunter2"),
        ("", "hunter2"),
        ("host", "hunter2"),
        ("Content-Length", "hunter2"),
        ("TRANSFER-ENCODING", "hunter2"),
    ] {
        let refused = call().header(name, value).unwrap_err();
        assert!(matches!(refused, HttpError::Header { .. }));
        assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
    }
    let good = call().header("Authorization", "Bearer hunter2").unwrap().body(b"hunter2".to_vec());
    assert!(!format!("{good:?}").contains("hunter2"), "{good:?}");
}

#[test]
fn a_secret_leaves_this_machine_encrypted_or_not_at_all() {
    let call = |url: &str| Request::new(Method::Get, url.parse().unwrap());
    // 192.0.2.0/24 belongs to nobody.
    let refused = http(&call("http://192.0.2.7/hooks/hunter2"), PLENTY, now());
    assert_eq!(refused, Err(HttpError::Plain));
    let server = page(answer(200, "here"));
    assert_eq!(http(&call(&format!("http://{server}/")), PLENTY, now()).unwrap().body, b"here");
    // Where a caller allows it, it is tried.
    let allowed = call("http://192.0.2.7:9/hooks/hunter2").plain(Plain::Allowed);
    let tried = http(&allowed, std::time::Duration::from_millis(100), now()).unwrap_err();
    assert_ne!(tried, HttpError::Plain);
    assert!(!format!("{tried} {tried:?}").contains("hunter2"), "{tried}");
}
