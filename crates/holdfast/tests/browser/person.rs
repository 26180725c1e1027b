//! What people do again and again: come in by a link, sign in, sign out.

use crate::chrome::Browser;
use crate::house::House;

/// What a browser logs when the house refuses something, which is then no fault of a page.
pub const REFUSALS: &[&str] = &["Failed to load resource: the server responded with a status of 4"];

/// The first owner, who has just come in by the link and kept their codes; the browser shows the overview.
pub async fn owner(house: &House) -> (Browser, Vec<String>) {
    let browser = Browser::start(house).await;
    browser.hand_new().await;
    let codes = come_in(&browser, &house.link(), "Laptop").await;
    (browser, codes)
}

/// Makes a passkey by a link, keeps the codes that are shown, and goes on.
pub async fn come_in(browser: &Browser, link: &str, device: &str) -> Vec<String> {
    browser.open(link).await;
    name_device(browser, device).await;
    let codes = codes_shown(browser).await;
    keep_codes(browser).await;
    browser.arrives("/").await;
    codes
}

pub async fn name_device(browser: &Browser, device: &str) {
    browser.fill("input[name=label]", device).await;
    browser.press("Make a passkey").await;
}

pub async fn codes_shown(browser: &Browser) -> Vec<String> {
    browser.until("codes are shown", "document.querySelectorAll('#once:not([hidden]) li').length > 0").await;
    let shown =
        browser.js("return [...document.querySelectorAll('#once-list li')].map(li => li.innerText)").await;
    shown.as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

pub async fn keep_codes(browser: &Browser) {
    browser.click("#once-kept").await;
    browser.press("Go on").await;
}

pub async fn sign_in(browser: &Browser) {
    browser.open("/login").await;
    browser.press("Sign in with a passkey").await;
}

pub async fn sign_out(browser: &Browser) {
    browser.click("details.me summary").await;
    browser.press("Sign out").await;
    browser.arrives("/login").await;
}

/// Whether the browser is let in: asked of the house and not of the page.
pub async fn is_signed_in(browser: &Browser) -> bool {
    let asked = "return (await fetch('/api/v1/status', { redirect: 'manual' })).status";
    let status = browser.js(asked).await;
    match status.as_u64() {
        Some(200) => true,
        Some(401) => false,
        other => panic!("the house answered {other:?}"),
    }
}

/// What the page says went wrong.
pub async fn trouble(browser: &Browser) -> String {
    browser.until("something went wrong", "document.querySelector('#trouble p')").await;
    browser.text("#trouble").await
}

/// Nothing was logged, and nobody but the house was asked for anything.
pub async fn nothing_to_complain_of(browser: &Browser, expected: &[&str]) {
    let complaints = browser.complaints(expected).await;
    assert_eq!(complaints, [""; 0], "the browser complained");
    let ours = format!("{}/", browser.origin);
    let elsewhere: Vec<String> =
        browser.requests().await.into_iter().filter(|url| !is_within(url, &ours)).collect();
    assert_eq!(elsewhere, [""; 0], "something beyond the house was asked for");
}

/// What never leaves the browser is no request; neither is the page of its own that it begins with.
fn is_within(url: &str, ours: &str) -> bool {
    let own = ["data:", "blob:", "about:", "chrome:"];
    url.starts_with(ours) || own.iter().any(|scheme| url.starts_with(scheme))
}
