//! Acting: a trial is watched and rolled back, asks are decided with a passkey, everything is paused.

use serde_json::json;

use crate::chrome::{Browser, Size};
use crate::house::{ASKING, House, REFUSED, WATCHED};
use crate::person::{nothing_to_complain_of, owner};
use crate::running::wait_for;
use crate::steps::Steps;

/// What a page that is loaded anew forgets.
const REMEMBER: &str = "window.sameAsBefore = true";

#[tokio::test]
async fn a_trial_is_watched_as_it_happens_and_rolled_back() {
    let (house, mut steps) = (House::with_hosts(), Steps::default());
    let (browser, _) = owner(&house).await;

    steps.begin("a trial begins on the page of its host, which is not loaded again");
    browser.open(&format!("/hosts/{WATCHED}")).await;
    browser.js(REMEMBER).await;
    house.ask_for_a_plan(WATCHED);
    counts_down(&browser, "#host-trial").await;
    let seen = scored(&browser, "#host-trial", 0).await;
    let seen = scored(&browser, "#host-trial", seen).await;

    steps.begin("and goes on on the page of the episode");
    browser.click("#host-trial h3 a").await;
    let episode = house.episode(WATCHED).unwrap()["episode"].as_str().unwrap().to_owned();
    browser.arrives(&format!("/episodes/{episode}")).await;
    browser.js(REMEMBER).await;
    counts_down(&browser, "#episode-state").await;
    scored(&browser, "#window", seen).await;
    assert!(browser.count("#gates li").await > 0, "its gates are shown");

    steps.begin("it is rolled back");
    browser.press("Roll back…").await;
    browser.press("Roll back").await;
    browser.arrives(&format!("/hosts/{WATCHED}")).await;
    let over =
        wait_for("it has ended", || house.episode(WATCHED).filter(|episode| episode["outcome"].is_string()));
    assert_eq!(over["episode"], json!(episode));
    let undone = "document.getElementById('host-episodes').innerText.includes('undone')";
    browser.until("the open page tells it", undone).await;

    steps.begin("its story says who did it");
    browser.open(&format!("/episodes/{episode}")).await;
    browser.says("owner").await;
    nothing_to_complain_of(&browser, &[]).await;
}

/// The lease counts down. It is renewed for as long as all is well, so what counts is that it was longer before.
async fn counts_down(browser: &Browser, within: &str) {
    let left = format!(
        "const left = document.querySelector('{within} .lease b.left')?.innerText;
        if (!left) return false;
        const seconds = left.split(':').reduce((all, part) => all * 60 + Number(part), 0);
        window.longest = Math.max(window.longest ?? 0, seconds);
        return seconds < window.longest"
    );
    browser.until("the lease counts down", &format!("(() => {{ {left} }})()")).await;
}

/// More cycles than these are scored, on a page that is not loaded again.
async fn scored(browser: &Browser, within: &str, before: u64) -> u64 {
    let cells = format!("document.querySelectorAll('{within} .cells span:not(.slate)').length");
    browser.until("another cycle is scored", &format!("{cells} > {before}")).await;
    assert_eq!(browser.js("return window.sameAsBefore").await, true, "the page was loaded again");
    browser.js(&format!("return {cells}")).await.as_u64().unwrap()
}

#[tokio::test]
async fn one_ask_is_approved_and_one_rejected_with_a_passkey_on_a_phone() {
    let (house, mut steps) = (House::with_hosts(), Steps::default());
    let (browser, _) = owner(&house).await;
    browser.resize(Size::Phone).await;

    steps.begin("two asks come while the first page is open");
    browser.open("/").await;
    browser.js(REMEMBER).await;
    house.ask_for_a_plan(ASKING);
    house.ask_for_a_plan(REFUSED);
    browser.says("2 things need you.").await;
    assert_eq!(browser.text("#rail-inbox b").await, "2");
    assert_eq!(browser.js("return window.sameAsBefore").await, true, "the page was loaded again");

    steps.begin("the inbox has both");
    browser.click("nav.places a[href='/inbox']").await;
    browser.arrives("/inbox").await;
    browser.says("2 asks wait for you.").await;

    steps.begin("one is approved");
    let ask = open_ask(&browser, ASKING).await;
    browser.says("What would be done").await;
    browser.press("Approve").await;
    browser.says("Approved by").await;
    assert_eq!(browser.at().await, ask);

    steps.begin("and is used: the episode goes on");
    browser.says("approved and used").await;
    let episode = house.episode(ASKING).unwrap()["episode"].as_str().unwrap().to_owned();
    browser.open(&format!("/episodes/{episode}")).await;
    browser.until("it is on trial", "document.querySelector('#window .cells')").await;

    steps.begin("the other is rejected");
    browser.open("/inbox").await;
    browser.says("1 ask waits for you.").await;
    open_ask(&browser, REFUSED).await;
    browser.fill(".decide input[name=reason]", "not on a Friday").await;
    browser.press("Reject").await;
    browser.says("Rejected by").await;
    browser.says("not on a Friday").await;
    let over =
        wait_for("it has ended", || house.episode(REFUSED).filter(|episode| episode["outcome"].is_string()));
    assert_eq!(over["outcome"], "refused");
    browser.open("/inbox").await;
    browser.says("Nothing waits for you.").await;

    steps.begin("the command line says the same");
    let all = house.home.json(&["approvals", "list", "--all"])["approvals"].clone();
    let state = |target: &str| {
        all.as_array().unwrap().iter().find(|ask| ask["target"] == target).unwrap()["state"].clone()
    };
    assert_eq!((state(ASKING), state(REFUSED)), (json!("used"), json!("rejected")), "{all}");
    let refused = all.as_array().unwrap().iter().find(|ask| ask["target"] == REFUSED).unwrap();
    let shown = house.home.json(&["approvals", "show", refused["id"].as_str().unwrap()]);
    assert_eq!(shown["decision"]["reason"], "not on a Friday");
    nothing_to_complain_of(&browser, &[]).await;
}

/// Opens the ask about a host, and gives where it is.
async fn open_ask(browser: &Browser, host: &str) -> String {
    let line = format!(
        "[...document.querySelectorAll('#asks li')].find((li) => li.innerText.includes({}))",
        json!(host)
    );
    browser.until("there is such an ask", &line).await;
    let ask = browser.js(&format!("return {line}.querySelector('a').pathname")).await;
    let ask = ask.as_str().unwrap().to_owned();
    browser.click(&format!("#asks a[href='{ask}']")).await;
    browser.arrives(&ask).await;
    ask
}

#[tokio::test]
async fn everything_is_paused_and_goes_on_again() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    let paused = || house.home.run(&["--json", "status"]).json()["pause"]["paused"] == true;

    steps.begin("pause, with a reason");
    browser.click("#pause summary").await;
    browser.fill("#pause input[name=reason]", "looking into it").await;
    browser.click("#pause button").await;
    browser.says("All autonomy is paused").await;
    browser.says("by web:owner: looking into it").await;
    assert!(paused());

    steps.begin("every page says so");
    browser.open("/audit").await;
    browser.says("All autonomy is paused").await;

    steps.begin("let it go on");
    browser.click("#pause summary").await;
    browser.click("#pause button").await;
    browser.arrives("/").await;
    browser.until("the banner is gone", "!document.getElementById('banner').innerText").await;
    assert!(!paused());

    steps.begin("an open page follows what is done by a command");
    browser.js(REMEMBER).await;
    house.home.run(&["pause", "--all", "--reason", "by hand"]).ok();
    browser.says("by hand").await;
    house.home.run(&["resume", "--all"]).ok();
    browser.until("the banner is gone", "!document.getElementById('banner').innerText").await;
    assert_eq!(browser.js("return window.sameAsBefore").await, true, "the page was loaded again");
    nothing_to_complain_of(&browser, &[]).await;
}
