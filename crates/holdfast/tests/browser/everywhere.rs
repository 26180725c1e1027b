//! Every page, in both themes and both sizes: fit for everybody, quiet, within its own house, and quick enough.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::chrome::{Browser, Size, Theme, axe};
use crate::house::{ASKING, House, WATCHED};
use crate::person::{codes_shown, keep_codes, name_device, nothing_to_complain_of, sign_in, sign_out};
use crate::running::wait_for;
use crate::steps::Steps;

/// Far more than a page may take: what it does take is printed, and `bench` holds it to more.
const INTERACTIVE_MAX_MS: f64 = 5_000.0;
/// What LOOK.md asks of whatever a finger has to hit.
const FINGER_PX: u64 = 44;

/// A house in which something happens, and all its pages by name.
struct Scene {
    house: House,
    pages: Vec<(&'static str, String)>,
}

impl Scene {
    fn set() -> Scene {
        let house = House::with_hosts();
        let remembered =
            house.home.json(&["memory", "add", "The firewall of web-1 lets port 443 in, and nothing else."]);
        let memory = remembered["id"].as_str().unwrap_or_else(|| panic!("{remembered}")).to_owned();
        house.ask_for_a_plan(WATCHED);
        house.ask_for_a_plan(ASKING);
        let ask = wait_for("an ask", || {
            house.home.json(&["approvals"])["approvals"].as_array().unwrap().first().cloned()
        });
        let episode = wait_for("an episode", || house.episode(WATCHED));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pages = vec![
            ("overview", "/".to_owned()),
            ("hosts", "/hosts".to_owned()),
            ("host", format!("/hosts/{WATCHED}")),
            ("episode", format!("/episodes/{}", text(&episode["episode"]))),
            ("inbox", "/inbox".to_owned()),
            ("ask", format!("/inbox/{}", text(&ask["id"]))),
            ("memory", "/memory".to_owned()),
            ("memory-found", "/memory?q=firewall".to_owned()),
            ("memory-entry", format!("/memory/main/{memory}")),
            ("audit", "/audit".to_owned()),
            ("audit-entry", "/audit/0".to_owned()),
            ("settings", "/settings".to_owned()),
            ("settings-people", "/settings/people".to_owned()),
            ("settings-tokens", "/settings/tokens".to_owned()),
            ("settings-notices", "/settings/notices".to_owned()),
            ("settings-house", "/settings/house".to_owned()),
            ("register-another", "/register".to_owned()),
            ("pause", "/pause".to_owned()),
            ("problem", "/no-such-page".to_owned()),
        ];
        Scene { house, pages }
    }
}

const OUTSIDE: &[(&str, &str)] = &[("login", "/login"), ("register", "/register"), ("recovery", "/recovery")];
/// A page that is not there says so to the browser as well.
const NOT_THERE: &[&str] = &["Failed to load resource: the server responded with a status of 404"];

// shows: GTW-076, GTW-079
#[tokio::test]
async fn every_page_is_fit_for_everybody_quiet_and_within_its_own_house() {
    let (scene, mut steps) = (Scene::set(), Steps::default());
    let mut judge = Judge::new();
    let browser = Browser::start(&scene.house).await;
    browser.hand_new().await;

    steps.begin("the codes that are shown once");
    browser.open(&scene.house.link()).await;
    name_device(&browser, "Laptop").await;
    codes_shown(&browser).await;
    judge.look(&browser, "register-codes").await;
    keep_codes(&browser).await;
    browser.arrives("/").await;

    steps.begin("pages outside");
    sign_out(&browser).await;
    for (name, path) in OUTSIDE {
        browser.open(path).await;
        judge.look(&browser, name).await;
    }
    sign_in(&browser).await;
    browser.arrives("/").await;

    steps.begin("pages inside");
    for (name, path) in &scene.pages {
        browser.open(path).await;
        judge.look(&browser, name).await;
    }

    steps.begin("what is unfolded");
    browser.open("/").await;
    browser.click("#pause summary").await;
    judge.look(&browser, "overview-pause").await;
    browser.open("/").await;
    browser.keys("?").await;
    judge.look(&browser, "keys").await;

    steps.begin("nothing was logged and nobody else was asked");
    nothing_to_complain_of(&browser, NOT_THERE).await;
    let found = judge.findings;
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[tokio::test]
async fn every_page_is_usable_on_a_machine_four_times_slower() {
    let (scene, mut steps) = (Scene::set(), Steps::default());
    let (browser, _) = crate::person::owner(&scene.house).await;
    browser.devtools("Network.enable", json!({})).await;
    browser.devtools("Network.setCacheDisabled", json!({"cacheDisabled": true})).await;
    browser.slow_down(4).await;
    steps.begin("each page is loaded anew, with nothing kept");
    let mut slow = Vec::new();
    for (name, path) in &scene.pages {
        browser.open(path).await;
        // The module has run by then: it is deferred, and the event waits for it.
        let took =
            browser.js("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd").await;
        let took = took.as_f64().unwrap();
        assert_eq!(
            browser.js("return document.documentElement.className").await,
            "js",
            "{name}: the module runs"
        );
        println!("interactive at a quarter of the speed: {name} {took:.0} ms");
        if took > INTERACTIVE_MAX_MS {
            slow.push((name, took));
        }
    }
    assert_eq!(slow, [], "pages that nobody would wait for");
}

/// Looks at pages, and keeps what it does not like.
struct Judge {
    axe: String,
    pictures: PathBuf,
    findings: Vec<String>,
}

impl Judge {
    fn new() -> Judge {
        let set = std::env::var_os("HOLDFAST_SCREENSHOTS").map(PathBuf::from);
        let target = || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("screenshots");
        let pictures = set.unwrap_or_else(target);
        std::fs::create_dir_all(&pictures).unwrap();
        Judge { axe: axe(), pictures, findings: Vec::new() }
    }

    /// The page that is open, in both sizes and both themes.
    async fn look(&mut self, browser: &Browser, name: &str) {
        for size in [Size::Phone, Size::Desk] {
            browser.resize(size).await;
            if size == Size::Phone {
                self.fits_a_hand(browser, name).await;
            }
            for theme in [Theme::Light, Theme::Dark] {
                browser.paint(theme).await;
                let seen = format!("{name}.{}.{}", theme.word(), size.word());
                // Colours are the same in both sizes: what axe finds in the dark it finds at a desk.
                if size == Size::Desk || theme == Theme::Light || std::env::var_os("HOLDFAST_SOAK").is_some()
                {
                    self.ask_axe(browser, &seen).await;
                }
                let picture = browser.picture(size).await;
                std::fs::write(self.pictures.join(format!("{seen}.png")), picture).unwrap();
            }
        }
        browser.paint(Theme::Light).await;
    }

    async fn ask_axe(&mut self, browser: &Browser, seen: &str) {
        if browser.js("return typeof window.axe").await == "undefined" {
            browser.js(&self.axe).await;
        }
        let run = "const { violations } = await axe.run(document, { resultTypes: ['violations'] });
            return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) =>
                `${id} (${impact}) ${target}: ${failureSummary.replace(/\\s+/g, ' ')}`))";
        let found = browser.js(run).await;
        for violation in found.as_array().unwrap() {
            self.findings.push(format!("{seen}: {}", violation.as_str().unwrap()));
        }
    }

    /// Nothing sticks out at the side, and what is pressed is large enough for a finger.
    async fn fits_a_hand(&mut self, browser: &Browser, name: &str) {
        let wide = browser.js("return document.documentElement.scrollWidth - window.innerWidth").await;
        if wide.as_i64().unwrap() > 0 {
            self.findings.push(format!("{name}: {wide} pixels wider than a phone"));
        }
        let small = format!(
            "return [...document.querySelectorAll('button, summary, nav a, a.button')]
                .filter((it) => it.checkVisibility())
                .map((it) => [it.innerText.trim(), it.getBoundingClientRect().height])
                .filter(([, height]) => height > 0 && height < {FINGER_PX})"
        );
        for (what, height) in browser.js(&small).await.as_array().unwrap().iter().map(|it| (&it[0], &it[1])) {
            self.findings.push(format!("{name}: {what} is {height} pixels high, too small for a finger"));
        }
    }
}
