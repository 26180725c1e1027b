//! What one agent lets another read: what was named and nothing else, until it is taken back or forgotten.

use holdfast_memory::{Kind, Voter};
use holdfast_memory_host::{Ask, Error, Only, Portion, ToPack};

use crate::home::{Home, agent, by, model, raw};

const PORT: &str = "The gateway of the staging cluster listens on port 9096.";
const BACKUP: &str = "Backups of the billing database are kept for fourteen days.";

fn share(home: &Home, what: Portion) -> Vec<holdfast_memory::MemoryId> {
    home.memories.share(&agent("scout"), &what, &agent("scribe"), &by().actor).unwrap()
}

fn texts(home: &Home, name: &str, query: &str) -> Vec<String> {
    home.search(name, query).hits.iter().map(|hit| hit.entry.text().to_owned()).collect()
}

// shows: MEM-011, DOC-F43
#[test]
fn only_what_was_shared_is_found_by_the_other_and_says_by_whom() {
    for with_model in [false, true] {
        let home = Home::new(with_model.then(model));
        let port = home.remember("scout", PORT);
        home.remember("scout", BACKUP);
        home.memories.embed_all(&agent("scout")).unwrap();
        let stranger = agent("scribe");
        let ask = Ask { agent: &stranger, query: "gateway port", top: 5, only: &Only::default(), now: None };
        assert!(matches!(home.memories.search(&ask), Err(Error::NoSpace(_))), "nothing is shared yet");

        assert_eq!(share(&home, Portion::One(port)), [port]);
        assert_eq!(share(&home, Portion::One(port)), [port], "said twice it is so once");
        assert_eq!(texts(&home, "scribe", "gateway port backups billing database"), [PORT]);
        let hit = &home.search("scribe", "gateway port").hits[0];
        let by_whom = hit.shared_by.as_ref().unwrap();
        assert_eq!((by_whom.name.as_str(), by_whom.agent), ("scout", agent("scout").id()));
        assert!(home.search("scout", "gateway port").hits[0].shared_by.is_none());
        assert_eq!(home.memories.show(&agent("scout"), port).unwrap().shared_with, [agent("scribe").id()]);

        // Beside its own, of which one has the same id.
        let own = home.remember("scribe", "The gateway of the museum is painted green on both sides.");
        assert_eq!(own, port);
        assert_eq!(texts(&home, "scribe", "gateway").len(), 2);
        let only = Only::default();
        let objective = "gateway";
        let wanted = ToPack { agent: &stranger, objective, token_budget: 500, only: &only };
        let pack = home.memories.pack(&wanted).unwrap();
        assert!(pack.items.iter().any(|item| item.text.contains("shared by \"scout\"")), "{}", pack.text());
        // A third one reads nothing of either.
        home.remember("third", BACKUP);
        assert!(texts(&home, "third", "gateway port").is_empty());
    }
}

#[test]
fn it_can_be_taken_back_and_holds_after_everything_is_made_again() {
    let home = Home::new(None);
    let port = home.remember("scout", PORT);
    home.remember("scribe", BACKUP);
    share(&home, Portion::One(port));
    let space = home.folder();
    let home = home.again_after(None, || std::fs::remove_dir_all(space).unwrap());
    assert_eq!(texts(&home, "scribe", "gateway port"), [PORT]);
    let what = Portion::One(port);
    assert_eq!(home.memories.unshare(&agent("scout"), &what, &agent("scribe"), &by().actor).unwrap(), [port]);
    assert!(texts(&home, "scribe", "gateway port").is_empty());
    assert_eq!(home.memories.unshare(&agent("scout"), &what, &agent("scribe"), &by().actor).unwrap(), []);
    let with_itself = home.memories.share(&agent("scout"), &what, &agent("scout"), &by().actor);
    assert!(matches!(with_itself, Err(Error::OwnSpace(_))));
}

#[test]
fn a_tag_or_a_kind_stands_for_what_has_it_now() {
    let home = Home::new(None);
    let mut tagged = raw(PORT);
    tagged.tags = vec!["network".into()];
    let port = home.keep("scout", tagged, &by());
    let backup = home.remember("scout", BACKUP);
    assert_eq!(share(&home, Portion::Tagged("network".into())), [port]);
    assert_eq!(texts(&home, "scribe", "gateway port backups database"), [PORT]);
    let mut later = raw("The proxy of the staging cluster listens on port 3128.");
    later.tags = vec!["network".into()];
    let later = home.keep("scout", later, &by());
    assert_eq!(texts(&home, "scribe", "staging cluster listens"), [PORT], "what comes later is not shared");
    assert_eq!(share(&home, Portion::OfKind(Kind::SessionFact)), [port, backup, later]);
    assert_eq!(texts(&home, "scribe", "staging cluster listens").len(), 2);
    // The tag is a word of the text, and stands nowhere in the log.
    home.memories.flush().unwrap();
    assert_eq!(crate::home::holds(&home.house.journal(), "network"), None);
}

#[test]
fn what_the_owner_forgets_is_gone_for_everybody() {
    let home = Home::new(Some(model()));
    let port = home.remember("scout", PORT);
    share(&home, Portion::One(port));
    home.memories.cite(&agent("scout"), port, Voter::Agent, "scribe").unwrap();
    home.memories.forget(&agent("scout"), port, &by().actor).unwrap();
    home.remember("scribe", BACKUP);
    assert!(texts(&home, "scribe", "gateway port").iter().all(|text| text == BACKUP));
    let shared = home.memories.share(&agent("scout"), &Portion::One(port), &agent("scribe"), &by().actor);
    assert!(matches!(shared, Err(Error::Forgotten(id)) if id == port));
    assert!(home.memories.cite(&agent("scout"), port, Voter::Person, "ana").is_err());
}
