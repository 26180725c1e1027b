//! Coming in: the link, passkeys, a second device, a lost one.

use std::collections::BTreeSet;

use crate::chrome::{Browser, Size};
use crate::house::House;
use crate::person::{
    REFUSALS, codes_shown, is_signed_in, keep_codes, name_device, nothing_to_complain_of, owner, sign_in,
    sign_out, trouble,
};
use crate::running::{Looking as _, wait_until};
use crate::steps::Steps;

/// Making a passkey waits until the test says so.
const HOLD_UP: &str = "const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = async (what) => {
        window.asked = true;
        await new Promise((go) => { window.goOn = go; });
        return create(what);
    }";

/// What a live page logs while its house is being restarted, beside refusals.
const UNREACHABLE: &[&str] = &[REFUSALS[0], "net::ERR_"];

// shows: GTW-013, GTW-015, GTW-020, GTW-088
#[tokio::test]
async fn the_link_makes_a_passkey_shows_ten_codes_and_signs_in() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let browser = Browser::start(&house).await;
    browser.hand_new().await;
    steps.begin("nobody is here yet");
    browser.open("/login").await;
    browser.says("Nobody has registered here yet.").await;

    steps.begin("the link is opened, and its secret leaves the address");
    browser.open(&house.link()).await;
    browser.until("the secret is gone", "location.hash === ''").await;

    steps.begin("a passkey is made");
    name_device(&browser, "Laptop").await;
    let codes = codes_shown(&browser).await;
    assert_eq!(codes.len(), 10, "{codes:?}");
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), 10, "no two are the same: {codes:?}");

    steps.begin("nobody goes on before they were kept");
    assert_eq!(browser.js("return document.getElementById('once-on').disabled").await, true);
    keep_codes(&browser).await;
    browser.arrives("/").await;
    assert!(is_signed_in(&browser).await);
    browser.says("Nothing needs you.").await;

    steps.begin("no script can read the session");
    assert_eq!(browser.js("return document.cookie").await, "");
    assert!(browser.has_session().await);

    steps.begin("one passkey was made");
    assert_eq!(browser.take().await.passkeys(), 1);
    nothing_to_complain_of(&browser, &[]).await;
}

// shows: GTW-056, GTW-089, GTW-090, GTW-093
#[tokio::test]
async fn whoever_signs_out_is_out_and_signs_in_again_without_a_name_on_a_phone() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    browser.resize(Size::Phone).await;

    steps.begin("sign out by the page");
    sign_out(&browser).await;
    assert!(!is_signed_in(&browser).await);
    assert!(!browser.has_session().await, "the cookie is gone");

    steps.begin("sign in with the passkey alone, and go on to where one wanted to go");
    browser.open("/audit?room=gateway").await;
    browser.arrives("/login").await;
    browser.press("Sign in with a passkey").await;
    browser.arrives("/audit").await;
    assert_eq!(browser.at().await, "/audit?room=gateway");
    assert!(is_signed_in(&browser).await);

    steps.begin("sign out by the call that a page makes");
    let out = "const csrf = localStorage.getItem('holdfast-word');
        const headers = { 'content-type': 'application/json' };
        return (await fetch('/auth/logout', { method: 'POST', headers, body: JSON.stringify({ csrf }) })).status";
    assert_eq!(browser.js(out).await, 200);
    assert!(!is_signed_in(&browser).await);

    steps.begin("and in again, in the same browser");
    sign_in(&browser).await;
    browser.arrives("/").await;
    assert!(is_signed_in(&browser).await);
    nothing_to_complain_of(&browser, REFUSALS).await;
}

// shows: GTW-016, GTW-091
#[tokio::test]
async fn a_second_device_signs_in_and_one_that_was_removed_does_not() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;

    steps.begin("add a second device in the settings");
    browser.open("/settings").await;
    browser.press("Add another device").await;
    browser.arrives("/register").await;
    browser.says("It will sign in as owner").await;
    // It asks for a device there is before it asks for the new one; between the two they are exchanged.
    browser.js(HOLD_UP).await;
    name_device(&browser, "Telephone").await;
    browser.until("the first has confirmed it", "window.asked").await;
    assert_eq!(house.home.bodies("gateway.passkey.confirmed").len(), 1, "in this very request");
    let first = browser.take().await;
    browser.hand_new().await;
    browser.js("window.goOn()").await;
    browser.arrives("/settings").await;
    browser.says("Telephone").await;

    steps.begin("the second signs in");
    sign_out(&browser).await;
    sign_in(&browser).await;
    browser.arrives("/").await;

    steps.begin("and removes the first");
    browser.open("/settings").await;
    let laptop = "//li[contains(., 'Laptop')]";
    browser.press_in(laptop, "Remove…").await;
    browser.press_in(laptop, "Remove").await;
    let gone = "document.getElementById('devices')?.innerText.includes('Laptop') === false";
    browser.until("it is gone", gone).await;
    sign_out(&browser).await;

    steps.begin("which is refused in words, without a session");
    let second = browser.take().await;
    browser.hand(first).await;
    sign_in(&browser).await;
    let said = trouble(&browser).await;
    assert!(said.contains("passkey"), "{said}");
    assert!(!is_signed_in(&browser).await);

    steps.begin("while the second still signs in");
    browser.take().await;
    browser.hand(second).await;
    sign_in(&browser).await;
    browser.arrives("/").await;
    nothing_to_complain_of(&browser, REFUSALS).await;
}

// shows: GTW-016, GTW-022, GTW-091
#[tokio::test]
async fn a_recovery_code_makes_a_new_passkey_and_works_once() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, codes) = owner(&house).await;
    sign_out(&browser).await;
    browser.take().await;
    browser.hand_new().await;

    steps.begin("a code nobody was given is refused in words");
    recover(&browser, &turned(&codes[0])).await;
    refused_code(&browser).await;

    steps.begin("a right one makes a new passkey");
    recover(&browser, &codes[0]).await;
    browser.arrives("/register").await;
    name_device(&browser, "New telephone").await;
    let on = "location.pathname === '/' || document.querySelector('#once:not([hidden])')";
    browser.until("it goes on", on).await;
    browser.arrives("/").await;
    assert!(is_signed_in(&browser).await);

    steps.begin("the other devices stay as they are");
    browser.open("/settings").await;
    browser.says("Laptop").await;
    browser.says("New telephone").await;
    browser.says("9 codes are left").await;

    steps.begin("the code does not work again");
    sign_out(&browser).await;
    recover(&browser, &codes[0]).await;
    refused_code(&browser).await;

    steps.begin("the new passkey signs in");
    sign_in(&browser).await;
    browser.arrives("/").await;
    nothing_to_complain_of(&browser, REFUSALS).await;
}

async fn recover(browser: &Browser, code: &str) {
    browser.open("/login").await;
    browser.press("I have lost my device").await;
    browser.arrives("/recovery").await;
    browser.fill("input[name=code]", code).await;
    browser.press("Go on").await;
}

async fn refused_code(browser: &Browser) {
    let said = trouble(browser).await;
    assert!(said.contains("code"), "{said}");
    assert_eq!(browser.at().await, "/recovery");
    assert!(!is_signed_in(browser).await);
}

/// A code with its last character exchanged for another one of the code.
fn turned(code: &str) -> String {
    let last = code.chars().last().unwrap();
    let other = code.chars().find(|c| c.is_alphanumeric() && *c != last).unwrap();
    format!("{}{other}", code.strip_suffix(last).unwrap())
}

#[tokio::test]
async fn an_owner_who_lost_everything_comes_in_by_a_link_of_the_machine() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    sign_out(&browser).await;
    browser.take().await;
    browser.hand_new().await;
    steps.begin("a link made on the machine lets the owner in with a new passkey");
    browser.open(&house.link_for("owner")).await;
    name_device(&browser, "Spare").await;
    browser.arrives("/").await;
    assert!(is_signed_in(&browser).await);
    nothing_to_complain_of(&browser, REFUSALS).await;
}

#[tokio::test]
async fn whoever_signed_in_long_ago_is_asked_for_the_passkey_before_something_dangerous() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, before) = owner(&house).await;

    steps.begin("the session outlives a restart");
    let house = house.an_hour_later();
    let confirmed = || house.home.bodies("gateway.passkey.confirmed").len();
    browser.open("/settings").await;
    browser.says("10 codes are left").await;

    steps.begin("without the device nothing happens");
    let device = browser.take().await;
    browser.hand_new().await;
    browser.press("Make ten new ones…").await;
    browser.press("Make ten new ones").await;
    let said = trouble(&browser).await;
    assert!(said.contains("Your device did not confirm it"), "{said}");
    assert_eq!(confirmed(), 0);

    steps.begin("with it, new codes are made");
    browser.take().await;
    browser.hand(device).await;
    browser.press("Make ten new ones").await;
    let after = codes_shown(&browser).await;
    assert_eq!(after.len(), 10);
    assert!(after.iter().all(|code| !before.contains(code)), "none of the old ones");
    wait_until("it is written down", || confirmed() == 1);
    nothing_to_complain_of(&browser, UNREACHABLE).await;
}

#[tokio::test]
async fn without_a_passkey_no_device_is_added_and_an_open_link_is_listed_and_revoked() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;

    steps.begin(
        "somebody with the open browser and no device adds none, however short ago its person signed in",
    );
    let device = browser.take().await;
    browser.hand_new().await;
    browser.open("/register").await;
    name_device(&browser, "Of a thief").await;
    let said = trouble(&browser).await;
    assert!(said.contains("Your device did not confirm it"), "{said}");
    let bare = "const csrf = localStorage.getItem('holdfast-word');
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ link: null, label: 'Of a thief', csrf });
        const answer = await fetch('/auth/register/start', { method: 'POST', headers, body });
        return (await answer.json()).error.code";
    assert_eq!(browser.js(bare).await, "HF-GTW-008");
    browser.open("/settings").await;
    assert!(!browser.text("#devices").await.contains("Of a thief"));

    steps.begin("no page has the word that changes take");
    let meta = "return document.querySelector('meta[name=csrf]').content + (document.querySelector('input[name=csrf]')?.defaultValue ?? '')";
    assert_eq!(browser.js(meta).await, "");

    steps.begin("with it, a link for another device is made, and listed");
    browser.take().await;
    browser.hand(device).await;
    browser.press("Make a link for it").await;
    browser.until("the link is shown", "document.querySelector('#once:not([hidden]) li')").await;
    let link = browser.text("#once-list li").await;
    browser.open("/settings").await;
    browser.says("Another device for owner").await;

    steps.begin("it is revoked, and leads nowhere");
    browser.press_in("//section[@id='links']", "Revoke").await;
    browser
        .until("it is gone", "document.querySelector('#links')?.innerText.includes('There is none')")
        .await;
    let other = Browser::start(&house).await;
    other.hand_new().await;
    other.open(link.strip_prefix(&house.origin).unwrap()).await;
    name_device(&other, "Of a thief").await;
    let said = trouble(&other).await;
    assert!(said.contains("link"), "{said}");
}
