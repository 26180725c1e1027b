//! Pages in a real browser whose processor was slowed down: from the beginning of a navigation until the page can be used.
//!
//! The module of a page runs before the browser says that the document is ready, so that moment (`DOMContentLoaded`, with all that listens
//! to it) is when it can be used. Nothing is taken from the browser's cache.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::pages::Page;
use super::site::Site;
use super::talk::Talk;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Loads of each page.
    pub(crate) loads: usize,
}

/// How much slower the processor is made.
pub(crate) const SLOWER: u32 = 4;
/// A browser that talks to nobody but the house. As root it has no sandbox of its own.
const FLAGS: [&str; 8] = [
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
];
const READY: &str = "const it = performance.getEntriesByType('navigation')[0]; return [it.domContentLoadedEventEnd, it.responseEnd]";

/// How long each page took, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) version: String,
    pub(crate) pages: Vec<(String, Vec<f64>)>,
}

/// Fails where there is no browser.
pub(super) fn measure(dir: &Path, site: &Site, pages: &[Page], plan: Plan) -> Result<Loaded> {
    let mut browser = Browser::start(dir)?;
    browser.devtools("Network.enable", &json!({}))?;
    browser.devtools("Network.setCacheDisabled", &json!({"cacheDisabled": true}))?;
    browser.devtools("Emulation.setCPUThrottlingRate", &json!({"rate": SLOWER}))?;
    let (name, value) = site.cookie.split_once('=').context("a cookie has a name")?;
    let origin = format!("http://{}", site.host);
    let cookie = json!({"name": name, "value": value, "url": origin, "httpOnly": true});
    // One load more than counts: the first page of all also starts what the browser needs for any.
    browser.load(&format!("{origin}/recovery"))?;
    let mut loaded = Loaded { version: browser.version.clone(), pages: Vec::new() };
    for page in pages {
        // Whoever is known is sent on from where others sign in.
        let is_outside = page.path == "/login";
        let known = if is_outside { "Network.clearBrowserCookies" } else { "Network.setCookie" };
        browser.devtools(known, &cookie)?;
        let url = format!("{origin}{}", page.path);
        let times = (0..plan.loads).map(|_| browser.load(&url)).collect::<Result<_>>();
        loaded.pages.push((page.shown.clone(), times.with_context(|| format!("loading {}", page.path))?));
    }
    Ok(loaded)
}

/// A browser and the driver between us and it. Dropped, both end.
struct Browser {
    child: Child,
    _said: BufReader<ChildStdout>,
    talk: Talk,
    session: String,
    version: String,
}

impl Browser {
    fn start(dir: &Path) -> Result<Browser> {
        let chromium = program("chromium")?;
        let mut driver = Command::new(program("chromedriver")?);
        driver.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = driver.spawn().context("starting chromedriver")?;
        let mut said = BufReader::new(child.stdout.take().context("a driver speaks")?);
        let port = listens(&mut said);
        let talk =
            port.and_then(|port| Talk::to(([127, 0, 0, 1], port).into(), &format!("localhost:{port}")));
        let talk = match talk {
            Ok(talk) => talk,
            Err(e) => {
                end(&mut child);
                return Err(e);
            }
        };
        let mut browser =
            Browser { child, _said: said, talk, session: String::new(), version: String::new() };
        let profile = format!("--user-data-dir={}", dir.join("profile").display());
        let unboxed = rustix::process::geteuid().is_root().then_some("--no-sandbox");
        let args: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).chain(unboxed).collect();
        let options = json!({"binary": chromium, "args": args});
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}});
        let made = browser.command("/session", &wanted)?;
        let text = |value: &Value| value.as_str().map(str::to_owned).context("a session has a name");
        browser.session = text(&made["sessionId"])?;
        browser.version = text(&made["capabilities"]["browserVersion"])?;
        Ok(browser)
    }

    /// Opens a page; the milliseconds until it could be used.
    fn load(&mut self, url: &str) -> Result<f64> {
        self.within("url", &json!({"url": url}))?;
        let times = self.within("execute/sync", &json!({"script": READY, "args": []}))?;
        let [ready, answered] = [0, 1].map(|n| times[n].as_f64().unwrap_or(0.0));
        ensure!(ready > 0.0 && answered > 0.0 && ready >= answered, "the browser gave no times: {times}");
        Ok(ready)
    }

    fn devtools(&mut self, command: &str, params: &Value) -> Result<Value> {
        self.within("goog/cdp/execute", &json!({"cmd": command, "params": params}))
    }

    fn within(&mut self, path: &str, body: &Value) -> Result<Value> {
        self.command(&format!("/session/{}/{path}", self.session), body)
    }

    fn command(&mut self, path: &str, body: &Value) -> Result<Value> {
        let reply = self.talk.post(path, &[], body)?;
        let mut said = reply.json()?;
        ensure!(reply.status == 200, "the browser: {}", said["value"]["message"]);
        Ok(said["value"].take())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser with the session, and is ended then.
        let _ = self.talk.ask("DELETE", &format!("/session/{}", self.session), &[], None);
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The driver says which port it took.
fn listens(said: &mut BufReader<ChildStdout>) -> Result<u16> {
    loop {
        let mut line = String::new();
        ensure!(said.read_line(&mut line)? > 0, "chromedriver ended before it was ready");
        if let Some((_, port)) = line.trim_end().trim_end_matches('.').split_once("successfully on port ") {
            return Ok(port.parse()?);
        }
    }
}

fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("{name} is not installed (scripts/setup.sh bench)"))
}
