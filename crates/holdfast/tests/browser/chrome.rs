//! A real browser, driven over WebDriver: its pages, its passkeys, what it logs and what it asks the network for.
//!
//! Each browser has a driver and a profile of its own. A passkey is kept by a virtual authenticator, which holds one
//! [`Device`] at a time: it can be taken out and handed to another browser, as a telephone is.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use url::Url;

use crate::house::House;

/// Far beyond what anything here takes on a slow machine.
const LONG: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// What says what to do when something that the tests need is missing.
const SETUP: &str = "run `make setup`, which installs it";

/// What starts a browser that talks to nobody but the house. As root it has no sandbox of its own.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--window-size=1280,900",
];

/// A browser with nobody signed in.
pub struct Browser {
    client: Client,
    pub origin: String,
    authenticator: RefCell<Option<String>>,
    _driver: Driver,
}

/// What a virtual authenticator holds: passkeys.
#[derive(Default)]
pub struct Device(Vec<Value>);

impl Device {
    pub fn passkeys(&self) -> usize {
        self.0.len()
    }
}

/// How large the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Desk,
    Phone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Size {
    fn pixels(self) -> (u64, u64) {
        match self {
            Size::Desk => (1280, 900),
            Size::Phone => (390, 844),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Size::Desk => "desk",
            Size::Phone => "phone",
        }
    }
}

impl Theme {
    pub fn word(self) -> &'static str {
        match self {
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }
}

impl Browser {
    pub async fn start(house: &House) -> Browser {
        let mut driver = Driver::start();
        let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        flags.push(format!("--user-data-dir={}", driver.folder.path().join("profile").display()));
        if rustix::process::geteuid().is_root() {
            flags.push("--no-sandbox".to_owned());
        }
        let mut wanted = Map::new();
        wanted.insert("goog:chromeOptions".into(), json!({"binary": program("chromium"), "args": flags}));
        wanted.insert("goog:loggingPrefs".into(), json!({"browser": "ALL", "performance": "ALL"}));
        let address = format!("http://127.0.0.1:{}", driver.port);
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(wanted);
        let client = builder.connect(&address).await.expect("a browser starts");
        driver.session = client.session_id().await.unwrap().unwrap();
        let origin = house.origin.clone();
        Browser { client, origin, authenticator: RefCell::default(), _driver: driver }
    }

    // ---- going about

    pub async fn open(&self, path: &str) {
        let to = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.origin) };
        self.client.goto(&to).await.unwrap_or_else(|e| panic!("{path} could not be opened: {e}"));
    }

    /// Path and query of where it is.
    pub async fn at(&self) -> String {
        let url = self.client.current_url().await.unwrap();
        url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
    }

    /// Waits until it is at a path, whatever the query.
    pub async fn arrives(&self, path: &str) {
        let wanted = json!(path);
        self.until(&format!("it is at {path}"), &format!("location.pathname === {wanted}")).await;
        self.until("the page is loaded", "document.readyState === 'complete'").await;
    }

    /// Runs a script of ours in the page, which no policy of the page forbids.
    pub async fn js(&self, script: &str) -> Value {
        self.tried(script).await.unwrap_or_else(|e| panic!("{e}\nin the script {script}"))
    }

    async fn tried(&self, script: &str) -> Result<Value, String> {
        let function = format!("return (async () => {{ {script} }})()");
        self.client.execute(&function, Vec::new()).await.map_err(|e| e.to_string())
    }

    /// Waits until an expression is true in the page.
    pub async fn until(&self, what: &str, expression: &str) {
        let script = format!("return !!({expression})");
        // A page that is going away answers nothing.
        let met = async || (self.tried(&script).await == Ok(Value::Bool(true))).then_some(());
        if wait(LONG, met).await.is_none() {
            panic!("it did not come to that: {what}\n{}", self.scene().await);
        }
    }

    /// Waits until the page says so somewhere.
    pub async fn says(&self, text: &str) {
        let (what, text) = (format!("the page says {text:?}"), json!(text));
        let squeezed = "document.body.innerText.replace(/\\s+/g, ' ')";
        self.until(&what, &format!("{squeezed}.includes({text})")).await;
    }

    /// Everything that can be read.
    pub async fn reads(&self) -> String {
        self.js("return document.body.innerText").await.as_str().unwrap_or_default().to_owned()
    }

    pub async fn text(&self, css: &str) -> String {
        let css = json!(css);
        let found = self.js(&format!("return document.querySelector({css})?.innerText ?? ''")).await;
        found.as_str().unwrap_or_default().to_owned()
    }

    pub async fn count(&self, css: &str) -> u64 {
        let css = json!(css);
        self.js(&format!("return document.querySelectorAll({css}).length")).await.as_u64().unwrap()
    }

    /// Clicks as a person does: what is hidden or covered cannot be clicked. What is replaced meanwhile is looked for
    /// again.
    pub async fn click(&self, css: &str) {
        let clicked = wait(LONG, async || {
            let found = self.client.find(Locator::Css(css)).await.ok()?;
            found.click().await.ok()
        });
        if clicked.await.is_none() {
            panic!("{css} could not be clicked\n{}", self.scene().await);
        }
    }

    /// Clicks the button, link or fold that has these words and can be seen.
    pub async fn press(&self, word: &str) {
        self.press_in("", word).await;
    }

    /// The same, within what an XPath finds.
    pub async fn press_in(&self, within: &str, word: &str) {
        if wait(LONG, async || self.pressable(within, word).await?.click().await.ok()).await.is_none() {
            panic!("nothing with the words {word:?} could be pressed\n{}", self.scene().await);
        }
    }

    async fn pressable(&self, within: &str, word: &str) -> Option<Element> {
        let kinds = "self::button or self::a or self::summary";
        let path = format!("{within}//*[{kinds}][normalize-space()=\"{word}\"]");
        for element in self.client.find_all(Locator::XPath(&path)).await.ok()? {
            if element.is_displayed().await.unwrap_or(false) {
                return Some(element);
            }
        }
        None
    }

    pub async fn fill(&self, css: &str, text: &str) {
        let field = self.client.find(Locator::Css(css)).await;
        field.unwrap_or_else(|e| panic!("no {css}: {e}")).send_keys(text).await.unwrap();
    }

    /// Presses keys without having chosen anything.
    pub async fn keys(&self, keys: &str) {
        self.client.find(Locator::Css("body")).await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Where it is and what is to be read there, for whoever has to find out.
    async fn scene(&self) -> String {
        let at = self.client.current_url().await.map(|url| url.to_string()).unwrap_or_default();
        let reads = self.tried("return document.body.innerText").await.unwrap_or_default();
        format!("--- at {at}\n{}", reads.as_str().unwrap_or_default())
    }

    /// Without its cookies it is a browser that was never here.
    pub async fn forget(&self) {
        self.client.delete_all_cookies().await.unwrap();
    }

    /// Whether it has the cookie of a session, good or not.
    pub async fn has_session(&self) -> bool {
        let all = self.client.get_all_cookies().await.unwrap();
        // The mark of a browser that was here before is none.
        let session = |name: &str| {
            name.starts_with("holdfast-") && !name.ends_with("-known") && !name.ends_with("-pre")
        };
        all.iter().any(|cookie| session(cookie.name()))
    }

    // ---- what it looks like

    pub async fn resize(&self, size: Size) {
        self.measure(size, size.pixels().1).await;
        self.devtools("Emulation.setTouchEmulationEnabled", json!({"enabled": size == Size::Phone})).await;
    }

    async fn measure(&self, size: Size, height: u64) {
        let (width, mobile) = (size.pixels().0, size == Size::Phone);
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    pub async fn paint(&self, theme: Theme) {
        let features = json!([{"name": "prefers-color-scheme", "value": theme.word()}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    pub async fn slow_down(&self, times: u32) {
        self.devtools("Emulation.setCPUThrottlingRate", json!({"rate": times})).await;
    }

    /// From the next page on.
    pub async fn forbid_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    }

    /// The whole page, in a window as high as it is: what is fixed to the edges stays there.
    pub async fn picture(&self, size: Size) -> Vec<u8> {
        let height = self.js("return document.documentElement.scrollHeight").await.as_u64().unwrap();
        self.measure(size, height.max(size.pixels().1)).await;
        let taken = self.devtools("Page.captureScreenshot", json!({"format": "png"})).await;
        self.measure(size, size.pixels().1).await;
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    pub async fn devtools(&self, command: &str, params: Value) -> Value {
        let body = json!({"cmd": command, "params": params});
        self.issue(Method::POST, "goog/cdp/execute", Some(body)).await
    }

    // ---- passkeys

    /// Gives it a device that holds nothing yet.
    pub async fn hand_new(&self) {
        self.hand(Device::default()).await;
    }

    pub async fn hand(&self, device: Device) {
        let made = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
            "isUserConsenting": true, "isUserVerified": true,
        });
        let id = self.issue(Method::POST, "webauthn/authenticator", Some(made)).await;
        let id = id.as_str().unwrap().to_owned();
        for passkey in device.0 {
            self.issue(Method::POST, &format!("webauthn/authenticator/{id}/credential"), Some(passkey)).await;
        }
        let before = self.authenticator.replace(Some(id));
        assert_eq!(before, None, "a browser has one device at a time");
    }

    /// Takes the device out, with its passkeys.
    pub async fn take(&self) -> Device {
        let id = self.authenticator.take().expect("it has a device");
        let path = format!("webauthn/authenticator/{id}");
        let held = self.issue(Method::GET, &format!("{path}/credentials"), None).await;
        self.issue(Method::DELETE, &path, None).await;
        Device(held.as_array().unwrap().clone())
    }

    // ---- what it says

    /// What it has logged since the last time, but for what was expected.
    pub async fn complaints(&self, expected: &[&str]) -> Vec<String> {
        let logged = self.logged("browser").await;
        let said = logged.iter().map(|line| format!("{} {}", line["level"], line["message"]));
        said.filter(|line| !expected.iter().any(|part| line.contains(part))).collect()
    }

    /// What it has asked the network for since the last time.
    pub async fn requests(&self) -> Vec<String> {
        let events = self.logged("performance").await;
        let events = events.iter().filter_map(|line| line["message"].as_str());
        let events = events.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let asked = |event: Value| {
            let (method, params) = (&event["message"]["method"], &event["message"]["params"]);
            let url = match method.as_str()? {
                "Network.requestWillBeSent" => &params["request"]["url"],
                "Network.webSocketCreated" => &params["url"],
                _ => return None,
            };
            url.as_str().map(str::to_owned)
        };
        events.filter_map(asked).collect()
    }

    async fn logged(&self, kind: &str) -> Vec<Value> {
        let lines = self.issue(Method::POST, "se/log", Some(json!({"type": kind}))).await;
        lines.as_array().cloned().unwrap_or_default()
    }

    async fn issue(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let asked = Asked { method, path: path.to_owned(), body };
        self.client.issue_cmd(asked).await.unwrap_or_else(|e| panic!("{path}: {e}"))
    }
}

/// Looks again and again, for so long.
pub async fn wait<T>(most: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + most;
    loop {
        if let Some(found) = look().await {
            return Some(found);
        }
        if Instant::now() > deadline {
            return None;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A command of WebDriver that fantoccini has no words for.
#[derive(Debug)]
struct Asked {
    method: Method,
    path: String,
    body: Option<Value>,
}

impl WebDriverCompatibleCommand for Asked {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (self.method.clone(), self.body.as_ref().map(Value::to_string))
    }
}

/// The program between us and the browser.
struct Driver {
    child: Child,
    _said: BufReader<ChildStdout>,
    port: u16,
    session: String,
    /// Its own, with all that the browser leaves behind.
    folder: tempfile::TempDir,
}

impl Driver {
    fn start() -> Driver {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program("chromedriver"));
        command.env("TMPDIR", folder.path());
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let port = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "chromedriver ended before it was ready");
            if let Some((_, port)) = line.trim_end().trim_end_matches('.').split_once("successfully on port ")
            {
                break port.parse().unwrap();
            }
        };
        Driver { child, _said: said, port, session: String::new(), folder }
    }
}

/// No test leaves a browser behind: the driver ends its own, and is ended then.
impl Drop for Driver {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let session = &self.session;
            let bye =
                format!("DELETE /session/{session} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(bye.as_bytes());
            let _ = stream.read(&mut [0; 64]);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a program is, or a sentence that says how to have it.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("there is no {name} on this machine: {SETUP}"))
}

/// What judges whether a page can be used by everybody.
pub fn axe() -> String {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = || std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).unwrap_or_default();
    let tools =
        std::env::var_os("HOLDFAST_TOOLS").map_or_else(|| cache().join("holdfast/tools"), PathBuf::from);
    let file = tools.join("browser/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("no axe-core ({e}): {SETUP}"))
}
