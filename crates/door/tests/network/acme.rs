//! Certificates ordered from Debian's `pebble`, a real authority for tests.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdfast_door::{Acme, Certificates, Challenge, Keeper, Standing, Status};
use holdfast_testkit::authority::{Looks, Pebble, a_port};

use crate::house::{APP, House, OWN, Plan, SOON, real_clock};
use crate::origin::Origin;

fn order(authority: &Pebble, dir: &Path, challenge: Challenge) -> Certificates {
    Certificates::Acme(Acme {
        directory: authority.directory(),
        contact: vec!["mailto:ana@example.org".into()],
        dir: dir.join("acme"),
        extra_root: Some(authority.root_file()),
        challenge,
    })
}

/// A client that trusts what this authority issues, and nothing else.
fn believer(authority: &Pebble, house: &House) -> reqwest::Client {
    let root = authority.issues_under();
    reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(root.as_bytes()).unwrap()])
        .resolve(OWN, house.address)
        .resolve(APP, house.address)
        .no_proxy()
        .build()
        .unwrap()
}

async fn in_use(keeper: &Keeper) -> Status {
    let until = std::time::Instant::now() + SOON * 3;
    loop {
        let status = keeper.status();
        if matches!(status.standing, Standing::InUse { .. }) {
            return status;
        }
        assert!(std::time::Instant::now() < until && status.trouble.is_none(), "{status:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Stands for what is stored: a key is in it, which is in no message.
fn stored(dir: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    std::fs::read(dir.join("acme/certificate.pem")).unwrap().hash(&mut hasher);
    hasher.finish()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_ordered_used_renewed_and_kept_when_an_order_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let looks = Looks { tls_port: listener.local_addr().unwrap().port(), http_port: a_port() };
    let authority = Pebble::running(dir.path(), looks);
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.listener = Some(listener);
    plan.clock = real_clock();
    plan.certificates = order(&authority, dir.path(), Challenge::TlsAlpn);
    let house = plan.open();
    let keeper = house.door.keeper().clone();

    // Ordered by the door itself, and answered through its own listener.
    let status = in_use(&keeper).await;
    let Standing::InUse { renews_at: Some(renews_at), uncovered, .. } = status.standing else { panic!() };
    assert_eq!((status.trouble, uncovered), (None, vec![]));
    let client = believer(&authority, &house);
    for host in [OWN, APP] {
        let ask = client.get(format!("https://{host}:{}/", house.address.port()));
        let answer = ask.header("cookie", "holdfast-app=ana").send().await.unwrap();
        assert_eq!(answer.status(), 200, "{host}");
    }
    let first = stored(dir.path());
    let mode = |file: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(dir.path().join("acme").join(file)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("certificate.pem"), mode("account.json")), (0o600, 0o600));

    keeper.tend().await;
    assert_eq!(stored(dir.path()), first, "not yet due");
    let clock = house.clock.clone();
    clock.set_wall(renews_at);
    keeper.tend().await;
    let second = stored(dir.path());
    assert_ne!(second, first, "{:?}", keeper.status());
    assert_eq!(keeper.status().trouble, None);

    // Nobody answers the authority's question any more: the old certificate stays, and it is said why.
    house.stop().await;
    clock.advance(Duration::from_secs(86_400));
    keeper.tend().await;
    let status = keeper.status();
    assert!(matches!(status.standing, Standing::InUse { .. }));
    assert!(status.trouble.is_some() && status.next_try.is_some_and(|next| next > clock.now()), "{status:?}");
    assert_eq!(stored(dir.path()), second);

    // A restart finds the certificate, and remembers when it may try again.
    let names = vec![OWN.parse().unwrap(), APP.parse().unwrap()];
    let ordered = order(&authority, dir.path(), Challenge::TlsAlpn);
    let again = Keeper::open(ordered, names, Arc::new(clock.clone())).unwrap();
    assert!(matches!(again.status().standing, Standing::InUse { .. }));
    let tries = std::fs::read(dir.path().join("acme/tries.json")).unwrap();
    again.tend().await;
    assert_eq!(std::fs::read(dir.path().join("acme/tries.json")).unwrap(), tries, "no try during the pause");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plain_listener_can_answer_for_a_name_too() {
    let dir = tempfile::tempdir().unwrap();
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.redirect = true;
    plan.clock = real_clock();
    // The authority has to know the port before the door opens: the redirect listener is on one that is told to both.
    let port = a_port();
    plan.redirect_port = port;
    let authority = Pebble::running(dir.path(), Looks { tls_port: a_port(), http_port: port });
    plan.certificates = order(&authority, dir.path(), Challenge::Http);
    let house = plan.open();
    let status = in_use(house.door.keeper()).await;
    assert_eq!(status.trouble, None);
    let client = believer(&authority, &house);
    let answer = client.get(format!("https://{OWN}:{}/x", house.address.port())).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "own /x 0 https=true");
    house.stop().await;
}
