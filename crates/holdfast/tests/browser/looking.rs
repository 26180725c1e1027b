//! Looking: memory with its provenance, the audit with its proofs, by keys, and without scripts.

use crate::chrome::Browser;
use crate::house::House;
use crate::person::{REFUSALS, nothing_to_complain_of, owner};
use crate::running::Looking as _;
use crate::steps::Steps;

const FACT: &str = "The backup of db-1 is written to the shelf in the cellar every Sunday at four.";

#[tokio::test]
async fn memory_is_searched_and_says_where_it_comes_from() {
    let (house, mut steps) = (House::empty(), Steps::default());
    house.home.run(&["memory", "add", FACT, "--source", "conversation"]).ok();
    house.home.run(&["memory", "add", "Ana prefers that notices wait until the morning."]).ok();
    let (browser, _) = owner(&house).await;

    steps.begin("search");
    browser.open("/memory").await;
    browser.fill("input[name=q]", "where does the backup go").await;
    browser.press("Search").await;
    browser.says(FACT).await;
    assert!(browser.at().await.starts_with("/memory?q="), "a search can be kept as a link");

    steps.begin("open what was found");
    browser.click("#hits a[href^='/memory/main/']").await;
    browser.says("A memory of main").await;
    browser.says(FACT).await;

    steps.begin("where it comes from");
    let provenance = browser.text("#provenance").await;
    for part in ["conversation", "trusted", "entry "] {
        assert!(provenance.to_lowercase().contains(part), "no {part:?} in {provenance}");
    }
    browser.click("#provenance a[href^='/audit/']").await;
    browser.until("the entry is shown", "location.pathname.startsWith('/audit/')").await;
    browser.says("memory.").await;
    nothing_to_complain_of(&browser, &[]).await;
}

#[tokio::test]
async fn an_entry_of_the_audit_is_verified_here_and_its_proof_holds_elsewhere() {
    let (house, mut steps) = (House::empty(), Steps::default());
    house.home.log("{\"n\":1}").ok();
    house.home.run(&["audit", "checkpoint", "--new"]).ok();
    let (browser, _) = owner(&house).await;

    steps.begin("the whole journal is checked");
    browser.open("/audit").await;
    browser.press("What is checked, and by whom").await;
    // The address stays the same, and the old page may be told the verdict before it goes.
    browser.js("document.documentElement.dataset.old = 'yes'").await;
    browser.press("Check every byte now").await;
    browser.until("the page is another", "!document.documentElement.dataset.old").await;
    browser.arrives("/audit").await;
    browser
        .until("it is verified", "document.getElementById('verification').innerText.includes('verified')")
        .await;

    steps.begin("an entry is found and opened");
    browser.fill("input[name=kind]", "captain.note.added").await;
    browser.press("Filter").await;
    browser.until("it is found", "location.search.includes('captain.note.added')").await;
    browser.click("#entries a.seq").await;
    browser.says("captain.note.added").await;

    steps.begin("it is verified here");
    browser.says("verified here and now").await;

    steps.begin("its proof is fetched, and holds elsewhere");
    let fetched = "const answer = await fetch(document.querySelector('#proof a[download]').href);
        return [answer.headers.get('content-disposition'), await answer.text()]";
    let fetched = browser.js(fetched).await;
    assert!(fetched[0].as_str().unwrap().starts_with("attachment;"), "{}", fetched[0]);
    let file = house.home.beside("proof.json");
    std::fs::write(&file, fetched[1].as_str().unwrap()).unwrap();
    let file = file.to_str().unwrap();
    house.home.run(&["audit", "prove", "--check", file]).ok();

    steps.begin("and does not when it is altered");
    let altered = fetched[1].as_str().unwrap().replacen("captain", "captaim", 1);
    let altered = if altered == fetched[1] { altered.replacen('a', "b", 1) } else { altered };
    std::fs::write(file, altered).unwrap();
    assert_ne!(house.home.run(&["audit", "prove", "--check", file]).code, 0);
    nothing_to_complain_of(&browser, &[]).await;
}

#[tokio::test]
async fn every_place_is_reached_by_keys() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    for (keys, path) in [
        ("gh", "/hosts"),
        ("gi", "/inbox"),
        ("gm", "/memory"),
        ("ga", "/audit"),
        ("gs", "/settings"),
        ("go", "/"),
    ] {
        steps.begin(keys);
        browser.keys(keys).await;
        browser.arrives(path).await;
    }
    steps.begin("/ leads to searching");
    browser.keys("/").await;
    browser.arrives("/memory").await;
    browser.keys("/").await;
    browser.until("the field has the focus", "document.activeElement.matches('[data-search]')").await;

    steps.begin("? shows the keys");
    browser.open("/").await;
    browser.keys("?").await;
    browser.until("the list is open", "document.getElementById('keys').open").await;
    browser.press("Close").await;

    steps.begin("the first stop leads past the rail");
    browser.open("/").await;
    // Tab, as WebDriver names it.
    browser.keys("\u{e004}").await;
    browser.until("it is on the first link", "document.activeElement.matches('a.skip')").await;
    nothing_to_complain_of(&browser, &[]).await;
}

#[tokio::test]
async fn pages_are_read_without_scripts_and_say_what_takes_one() {
    let (house, mut steps) = (House::empty(), Steps::default());
    house.home.run(&["memory", "add", FACT]).ok();
    house.home.run(&["audit", "checkpoint", "--new"]).ok();
    let (browser, _) = owner(&house).await;
    browser.forbid_scripts().await;
    for (path, text) in [
        ("/", "Nothing needs you."),
        ("/hosts", "Nothing is looked after yet."),
        ("/inbox", "Nothing waits for you."),
        ("/memory?q=backup", FACT),
        ("/audit", "Is it whole?"),
        ("/audit/0", "verified here and now"),
        ("/settings", "Laptop"),
        ("/settings/people", "owner"),
        ("/settings/house", "holdfast/house"),
        ("/no-such-page", "There is nothing here"),
    ] {
        steps.begin(path);
        browser.open(path).await;
        browser.says(text).await;
        let class = browser.js("return document.documentElement.className").await;
        assert_eq!(class, "", "the module ran");
    }

    steps.begin("at localhost a form needs the script, and the page says what does not");
    browser.open("/pause").await;
    browser.says("holdfast pause --all").await;
    browser.press_in("//main", "Pause everything").await;
    browser.says("Nothing was changed.").await;
    assert_eq!(house.home.status()["pause"]["paused"], false);

    steps.begin("a search is a form");
    search(&browser).await;

    steps.begin("signing in says what it needs");
    browser.forget().await;
    browser.open("/login").await;
    browser.says("This needs JavaScript").await;
    nothing_to_complain_of(&browser, REFUSALS).await;
}

async fn search(browser: &Browser) {
    browser.open("/memory").await;
    browser.fill("input[name=q]", "backup").await;
    browser.press("Search").await;
    browser.says(FACT).await;
}
