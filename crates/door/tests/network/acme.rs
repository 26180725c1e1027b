//! Certificates ordered from Debian's `pebble`, a real authority for tests, with `pebble-challtestsrv` as its resolver, which says
//! that every name is this machine.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use holdfast_door::{Acme, Certificates, Challenge, Keeper, Standing, Status};

use crate::house::{APP, House, OWN, Plan, SOON, real_clock};
use crate::origin::Origin;

/// An authority that is ended when it is dropped.
struct Authority {
    children: Vec<Child>,
    directory: String,
    roots: String,
    root: PathBuf,
    own_root: reqwest::Client,
}

impl Drop for Authority {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The certificate under which the authority itself is reached, and the root it hangs from.
fn reach(dir: &Path) -> PathBuf {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let root_key = rcgen::KeyPair::generate().unwrap();
    let root = params.self_signed(&root_key).unwrap();
    let issuer = rcgen::Issuer::new(params, root_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    std::fs::write(dir.join("root.pem"), root.pem()).unwrap();
    std::fs::write(dir.join("reach.pem"), leaf.pem()).unwrap();
    std::fs::write(dir.join("reach.key"), key.serialize_pem()).unwrap();
    dir.join("root.pem")
}

async fn authority(dir: &Path, tls_port: u16, http_port: u16) -> Authority {
    let root = reach(dir);
    let (listen, management, dns, control) = (free_port(), free_port(), free_port(), free_port());
    let config = serde_json::json!({ "pebble": {
        "listenAddress": format!("127.0.0.1:{listen}"),
        "managementListenAddress": format!("127.0.0.1:{management}"),
        "certificate": dir.join("reach.pem"),
        "privateKey": dir.join("reach.key"),
        "httpPort": http_port,
        "tlsPort": tls_port,
        "ocspResponderURL": "",
        "externalAccountBindingRequired": false,
    }});
    std::fs::write(dir.join("pebble.json"), config.to_string()).unwrap();
    let resolver = Command::new("pebble-challtestsrv")
        .args([
            "-defaultIPv4",
            "127.0.0.1",
            "-defaultIPv6",
            "",
            "-http01",
            "",
            "-https01",
            "",
            "-tlsalpn01",
            "",
        ])
        .args(["-dns01", &format!("127.0.0.1:{dns}"), "-management", &format!("127.0.0.1:{control}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pebble-challtestsrv is installed (Debian package pebble)");
    let pebble = Command::new("pebble")
        .args([
            "-config",
            dir.join("pebble.json").to_str().unwrap(),
            "-dnsserver",
            &format!("127.0.0.1:{dns}"),
        ])
        .env("PEBBLE_VA_NOSLEEP", "1")
        .env("PEBBLE_WFE_NONCEREJECT", "0")
        .env("PEBBLE_AUTHZREUSE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("pebble is installed");
    let own_root = reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(&std::fs::read(&root).unwrap()).unwrap()])
        .no_proxy()
        .build()
        .unwrap();
    let authority = Authority {
        children: vec![resolver, pebble],
        directory: format!("https://localhost:{listen}/dir"),
        roots: format!("https://localhost:{management}/roots/0"),
        root,
        own_root,
    };
    authority.is_up().await;
    authority
}

impl Authority {
    async fn is_up(&self) {
        let until = std::time::Instant::now() + SOON;
        while self.own_root.get(&self.directory).send().await.is_err() {
            assert!(std::time::Instant::now() < until, "pebble does not come up");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn order(&self, dir: &Path, challenge: Challenge) -> Certificates {
        Certificates::Acme(Acme {
            directory: self.directory.clone(),
            contact: vec!["mailto:ana@example.org".into()],
            dir: dir.join("acme"),
            extra_root: Some(self.root.clone()),
            challenge,
        })
    }

    /// A client that trusts what this authority issues, and nothing else.
    async fn believer(&self, house: &House) -> reqwest::Client {
        let root = self.own_root.get(&self.roots).send().await.unwrap().text().await.unwrap();
        reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(root.as_bytes()).unwrap()])
            .resolve(OWN, house.address)
            .resolve(APP, house.address)
            .no_proxy()
            .build()
            .unwrap()
    }
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
    let authority = authority(dir.path(), listener.local_addr().unwrap().port(), free_port()).await;
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.listener = Some(listener);
    plan.clock = real_clock();
    plan.certificates = authority.order(dir.path(), Challenge::TlsAlpn);
    let house = plan.open();
    let keeper = house.door.keeper().clone();

    // Ordered by the door itself, and answered through its own listener.
    let status = in_use(&keeper).await;
    let Standing::InUse { renews_at: Some(renews_at), uncovered, .. } = status.standing else { panic!() };
    assert_eq!((status.trouble, uncovered), (None, vec![]));
    let client = authority.believer(&house).await;
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
    let order = authority.order(dir.path(), Challenge::TlsAlpn);
    let again = Keeper::open(order, names, Arc::new(clock.clone())).unwrap();
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
    let port = free_port();
    plan.redirect_port = port;
    let authority = authority(dir.path(), free_port(), port).await;
    plan.certificates = authority.order(dir.path(), Challenge::Http);
    let house = plan.open();
    let status = in_use(house.door.keeper()).await;
    assert_eq!(status.trouble, None);
    let client = authority.believer(&house).await;
    let answer = client.get(format!("https://{OWN}:{}/x", house.address.port())).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "own /x 0 https=true");
    house.stop().await;
}
