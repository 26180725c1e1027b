//! The same house over TLS, with a certificate of its own authority, of files, and of an authority that checks names by itself.

use std::path::Path;

use holdfast_testkit::authority::{Looks, Pair, Pebble, Root, a_port};
use serde_json::Value;

use crate::browser::{an_address, raw};
use crate::house::House;
use crate::phone::Phone;
use crate::running::{Looking as _, read, wait_for, wait_until};

// shows: GTW-026, GTW-031, GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_cookies_are_for_this_host_alone_and_plain_words_are_not_answered() {
    let mut house = House::planned("");
    let origin = format!("https://localhost:{}", house.port);
    house.home.configure(&format!("gateway:\n  address: {origin}\n  tls: {{ from: local }}\n"));
    house.start();
    let authority = house.home.state("gateway/certificates/authority.pem");
    wait_until("there is an authority", || read(&authority).contains("END CERTIFICATE"));
    let mut phone = Phone::new("localhost", house.port, &read(&authority));

    let done = phone.register(&house).await;
    let port = house.port;
    let is_session =
        |name: &&String| name.starts_with("__Host-holdfast-") && name.ends_with(&format!("-{port}"));
    let name = phone.jar().keys().find(is_session).cloned().expect("instance and port are in its name");
    let cookies: Vec<&str> =
        done.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    for cookie in &cookies {
        assert!(cookie.starts_with("__Host-holdfast-") && cookie.contains("; Secure"), "{cookie}");
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
    let session = cookies.iter().find(|line| line.starts_with(&format!("{name}="))).unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Lax"] {
        assert!(session.contains(part), "{session}");
    }

    let page = phone.get("/settings").await.is(200);
    assert!(page.header("strict-transport-security").contains("max-age="));
    // The name without its prefix is nobody's, whoever planted it.
    let value = phone.jar().remove(&name).unwrap();
    phone.jar().insert(name.trim_start_matches("__Host-").to_owned(), value);
    assert_eq!(phone.get("/settings").await.is(303).location(), "/login?next=%2Fsettings");

    // Phones are told of the authority before anybody signs in, and it is the one that signs.
    phone.jars.clear();
    assert!(phone.get("/authority").await.is(200).text.contains("/authority/holdfast.crt"));
    assert_eq!(phone.get("/authority/holdfast.pem").await.is(200).text, read(&authority));
    assert!(!phone.get("/authority/authority.key").await.is(404).text.contains("KEY"));

    // Without TLS there is nothing to be had.
    let plain = format!("GET /login HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", house.port);
    let answer = raw(an_address(), house.port, plain.as_bytes()).await;
    assert!(!answer.contains("200 OK") && !answer.contains("<html"), "{answer}");
    house.stop().well();
}

/// What the status says of the certificate.
fn said(house: &House) -> Vec<String> {
    let status = house.home.status();
    let all = status["needs_you"].as_array().unwrap().iter().map(|said| said.as_str().unwrap().to_owned());
    all.filter(|said| said.contains("certificate")).collect()
}

/// Whether its health page calls it well.
fn is_well(house: &House) -> bool {
    house.daemon.as_ref().unwrap().health().1["healthy"] == true
}

/// Whether there is a notice about it; a good word is below what is told by default.
fn told(house: &House, severity: &str) -> bool {
    let is = |body: &Value| {
        body["severity"] == severity
            && body["message"].as_str().is_some_and(|text| text.contains("certificate"))
    };
    house.home.bodies("notice.message.raised").iter().any(is)
}

/// Puts a pair in place as programs that renew do: written aside, then moved over.
fn put(dir: &Path, pair: &Pair) {
    for (file, text) in [("key.pem", &pair.key), ("chain.pem", &pair.chain)] {
        holdfast_durable::replace(&dir.join(file), text.as_bytes(), holdfast_durable::Mode::Private).unwrap();
    }
}

async fn is_shown_another(phone: &Phone, than: &[u8]) -> Vec<u8> {
    let until = std::time::Instant::now() + crate::running::LONG;
    loop {
        match phone.shown().await {
            Ok(now) if now != than => return now,
            _ => assert!(std::time::Instant::now() < until, "the certificate stays as it was"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

// shows: GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_files_is_served_followed_and_kept_while_they_are_broken() {
    let mut house = House::planned("");
    let (root, dir) = (Root::new(), house.home.path().join("own"));
    std::fs::create_dir(&dir).unwrap();
    let origin = format!("https://gate.localhost:{}", house.port);
    house.home.configure(&format!(
        "gateway:\n  address: {origin}\n  tls: {{ from: files, chain: \"{0}/chain.pem\", key: \"{0}/key.pem\" }}\n",
        dir.display()
    ));
    // Without them the daemon is there all the same, and says what is missing; once they are there nobody has to start anything.
    house.start();
    let missing = || house.home.status()["needs_you"].to_string().contains("own/chain.pem");
    wait_until("the status says which file is missing", missing);
    put(&dir, &root.sign(&["gate.localhost"]));
    let mut phone = Phone::new("gate.localhost", house.port, &root.pem);
    let first = is_shown_another(&phone, b"").await;
    phone.register(&house).await;
    phone.sign_out().await;
    phone.sign_in().await;
    wait_until("nothing is said of it any more", || said(&house).is_empty() && is_well(&house));

    // Replaced, they are taken up as they are, and whoever is signed in stays so.
    put(&dir, &root.sign(&["gate.localhost"]));
    let second = is_shown_another(&phone, &first).await;
    phone.get("/").await.is(200);

    // A key that belongs to another certificate, and then no certificate at all: the last good pair stays, and it is said.
    let stranger = root.sign(&["gate.localhost"]);
    std::fs::write(dir.join("key.pem"), &stranger.key).unwrap();
    let sentence = wait_for("the status says it", || said(&house).pop());
    assert!(sentence.contains("stays the old one") && sentence.contains("own/chain.pem"), "{sentence}");
    assert!(!sentence.contains("PRIVATE"), "{sentence}");
    wait_until("health says it", || !is_well(&house));
    wait_until("people are told", || told(&house, "warning"));
    std::fs::write(dir.join("chain.pem"), "no certificate").unwrap();
    wait_until("the status says what it is now", || {
        said(&house).iter().any(|said| said.contains("there is no certificate in it"))
    });
    assert_eq!(phone.shown().await.unwrap(), second);
    phone.get("/").await.is(200);
    let log = house.daemon.as_ref().unwrap().log();
    assert!(log.contains("the one in use stays"), "{log}");

    // Mended, it is in use, and that is told too.
    put(&dir, &stranger);
    is_shown_another(&phone, &second).await;
    phone.get("/").await.is(200);
    wait_until("it is over", || said(&house).is_empty() && told(&house, "info"));
    house.stop().well();
}

// shows: GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_ordered_by_the_daemons_own_settings_and_outlives_a_restart_and_its_authority() {
    let mut house = House::planned("");
    let dir = tempfile::tempdir().unwrap();
    let mut authority = Pebble::planned(dir.path(), Looks { tls_port: house.port, http_port: a_port() });
    let origin = format!("https://gate.localhost:{}", house.port);
    let service = "{ name: app, host: app.gate.localhost, to: \"127.0.0.1:9\" }";
    house.home.configure(&format!(
        "gateway:\n  address: {origin}\n  services:\n    - {service}\n  tls:\n    from: acme\n    directory: {}\n    ca_file: {}\n    \
         contact: ana@example.org\n",
        authority.directory(),
        authority.root_file().display()
    ));

    // The authority is away: the daemon is there, says so, and goes on with everything else.
    house.start();
    let sentence = wait_for("the status says it", || said(&house).pop());
    assert!(sentence.contains("no certificate") && sentence.contains("cannot be reached"), "{sentence}");
    assert!(sentence.contains("tried again at"), "{sentence}");
    assert!(!is_well(&house));
    let (code, health) = house.daemon.as_ref().unwrap().health();
    assert_eq!((code, &health["safe"]), (200, &Value::Bool(true)), "{health}");

    // It comes, and nobody has to do anything.
    authority.start();
    let mut phone = Phone::new("gate.localhost", house.port, &authority.issues_under());
    let first = is_shown_another(&phone, b"").await;
    phone.register(&house).await;
    phone.sign_out().await;
    phone.sign_in().await;
    assert!(phone.reach("app.gate.localhost").await.is_ok(), "it speaks for services too");
    assert_eq!(said(&house), [""; 0]);
    assert!(!told(&house, "warning"), "what was over so soon is nobody's trouble");

    // After a restart it is there at once, and the authority is not even asked.
    house.stop().well();
    authority.stop();
    house.start();
    assert_eq!(is_shown_another(&phone, b"").await, first);
    phone.get("/").await.is(200);
    assert_eq!(said(&house), [""; 0]);
    house.stop().well();
}
