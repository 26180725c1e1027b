//! Somebody else listens where a service should, while it is down.

use holdfast_door::{RunBy, To};
use holdfast_testkit::{IMPOSTURE, STRANGER, Stranger, Taking};

use crate::house::Plan;
use crate::raw::{body, exchange, get, status};

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_kept_from_whoever_took_a_services_port() {
    for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
        let mut stranger = Stranger::at(STRANGER, Taking::Listening, at.parse().unwrap());
        let mut to = stranger.address;
        if to.ip().is_unspecified() {
            to.set_ip([127, 0, 0, 1].into());
        }
        let house = Plan::to(To::Tcp(to)).open();
        let answer = exchange(house.address, get("/secret").as_bytes()).await;
        assert_eq!(status(&answer), Some(502), "{at}: {answer}");
        assert!(!answer.contains(IMPOSTURE), "{at}");
        assert_eq!(stranger.heard(), b"", "{at}: not a byte of it, and no name");
        let told = house.door.impostors();
        assert_eq!((told[0].service.as_str(), told[0].times), ("app", 1), "{at}");
        assert_eq!(house.door.counts().service_foreign, 1);
        assert!(house.door.impostors().is_empty(), "said once");
        house.stop().await;

        // The same program, named: it is that user's.
        let mut plan = Plan::to(To::Tcp(to));
        plan.run_by = RunBy::new(me(), Some(STRANGER));
        let house = plan.open();
        let answer = exchange(house.address, get("/page").as_bytes()).await;
        assert_eq!((status(&answer), body(&answer)), (Some(200), IMPOSTURE), "{at}");
        house.stop().await;
    }
}

/// The service's own listener is at every address, and somebody takes a nearer one, or the other family.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_of_the_other_family_neither_stands_in_nor_in_the_way() {
    let (_origin, to) = crate::origin::Origin::on_loopback().await;
    let To::Tcp(address) = to.clone() else { panic!() };
    let beside = format!("[::]:{}", address.port()).parse().unwrap();
    let _stranger = Stranger::at(STRANGER, Taking::ListeningOnly, beside);
    let house = Plan::to(to).open();
    assert_eq!(status(&exchange(house.address, get("/page").as_bytes()).await), Some(200));
    house.stop().await;
}
