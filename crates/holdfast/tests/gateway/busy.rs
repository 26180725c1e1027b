//! People with accounts who go on with what they do, one act after the other, whatever else happens. Each act answers, and says which entries
//! are in the journal by then.

use serde_json::{Value, json};

use crate::front::Behind;
use crate::house::House;
use crate::phone::Phone;

/// So many people take turns, a round of acts each: nobody comes near to what one person may do in a minute.
const PEOPLE: usize = 3;

/// Acts of a round.
const ACTS: usize = 13;

/// All phones here are one place, and who was never here before has a share of that place: one registration every ten seconds.
const ROUNDS_TO_A_RETURN: usize = 6;

struct Person {
    phone: Phone,
    codes: Vec<String>,
}

pub struct People {
    all: Vec<Person>,
    /// Asks that wait for a verdict.
    asks: Vec<String>,
    turns: usize,
    /// What was done, as it is in the journal.
    pub done: Vec<&'static str>,
}

impl People {
    /// Owners, each with a phone. Before the daemon ran, `asks` were made and a host was trusted.
    pub async fn new(behind: &Behind, asks: Vec<String>) -> People {
        let mut first = Person::new(behind.phone(), &behind.house, None).await;
        let mut all = Vec::new();
        for n in 1..PEOPLE {
            let asked = json!({ "name": format!("Owner {n}"), "role": "owner" });
            let link = first.phone.post("/auth/people/invite", asked).await.is(200);
            let link = link.json["link"].as_str().unwrap();
            all.push(Person::new(behind.phone(), &behind.house, Some(link)).await);
        }
        all.push(first);
        People { all, asks, turns: 0, done: Vec::new() }
    }

    /// At least one round of all acts was made.
    pub fn did_all(&self) -> bool {
        self.turns >= ACTS
    }

    /// The next act. It has answered and is recorded when this returns.
    pub async fn act(&mut self, behind: &Behind) {
        let (round, act) = (self.turns / ACTS, self.turns % ACTS);
        self.turns += 1;
        let returns = round % ROUNDS_TO_A_RETURN == 0;
        let me = &mut self.all[round % PEOPLE];
        let phone = &mut me.phone;
        let done: Vec<&'static str> = match act {
            0 if returns => signs_in_elsewhere(phone, behind).await,
            0 => signs_out_and_in(phone).await,
            1 => token(phone).await,
            2 => link(phone).await,
            3 if returns => me.recovers().await,
            4 => me.renews_codes().await,
            5 => invites(phone, behind, round, returns).await,
            6 => changes_role(phone, round).await,
            7 => removes(phone, round).await,
            8 => match self.asks.pop() {
                Some(ask) => approves(phone, &ask).await,
                None => Vec::new(),
            },
            9 => orders(phone, round).await,
            10 => remembers_and_forgets(phone, round).await,
            11 => turns_switch(phone, "pause", "holdfast.autonomy.paused").await,
            12 => turns_switch(phone, "resume", "holdfast.autonomy.resumed").await,
            _ => Vec::new(),
        };
        self.done.extend(done);
    }

    /// A phone that was never here, in the hand of one of them, who has begun to sign in and not finished.
    pub async fn newcomer(&self, behind: &Behind) -> (Phone, Value) {
        let mut phone = behind.phone();
        phone.device = self.all[0].phone.device.clone();
        let begun = phone.begin_signing_in().await;
        (phone, begun)
    }

    /// They finish.
    pub async fn came_in(&mut self, mut phone: Phone, begun: Value) {
        phone.finish_signing_in(begun).await;
        phone.get("/").await.is(200);
        self.done.push("gateway.session.started");
    }
}

impl Person {
    /// By a link of the machine, or by an invitation.
    async fn new(mut phone: Phone, house: &House, link: Option<&str>) -> Person {
        let registered = match link {
            None => phone.register(house).await,
            Some(link) => phone.register_by(link).await,
        };
        Person { phone, codes: codes(&registered.json) }
    }

    /// Only as far as the link that it is for: it is not used, since every session would end.
    async fn recovers(&mut self) -> Vec<&'static str> {
        let code = self.codes.pop().unwrap();
        let link = self.phone.post("/auth/recover", json!({ "code": code })).await.is(200);
        assert!(link.json["next"].as_str().unwrap().starts_with("/register#"));
        vec!["gateway.code.used"]
    }

    async fn renews_codes(&mut self) -> Vec<&'static str> {
        self.codes = codes(&self.phone.post("/auth/codes/renew", json!({})).await.is(200).json);
        vec!["gateway.passkey.confirmed", "gateway.codes.renewed"]
    }
}

fn codes(told: &Value) -> Vec<String> {
    told["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

async fn signs_out_and_in(phone: &mut Phone) -> Vec<&'static str> {
    phone.sign_out().await;
    phone.sign_in().await;
    vec!["gateway.session.left", "gateway.session.started"]
}

/// On a phone that was never here, with the same passkey.
async fn signs_in_elsewhere(phone: &Phone, behind: &Behind) -> Vec<&'static str> {
    let mut new = behind.phone();
    new.device = phone.device.clone();
    new.sign_in().await;
    new.get("/").await.is(200);
    vec!["gateway.session.started"]
}

async fn token(phone: &mut Phone) -> Vec<&'static str> {
    let made = json!({ "name": "t", "scope": "read", "days": 1 });
    let token = phone.post("/auth/tokens/make", made).await.is(200);
    phone.post("/auth/tokens/revoke", json!({ "id": token.json["id"] })).await.is(200);
    vec!["gateway.passkey.confirmed", "gateway.token.made", "gateway.token.revoked"]
}

/// Made and taken back: there may only be so many.
async fn link(phone: &mut Phone) -> Vec<&'static str> {
    phone.post("/auth/devices/link", json!({})).await.is(200);
    let open = phone.get("/api/v1/house/links").await.is(200);
    let mut links = open.json["links"].as_array().unwrap().iter();
    let device = links.find(|link| link["purpose"] == "device").unwrap();
    phone.post("/auth/links/revoke", json!({ "id": device["id"] })).await.is(200);
    vec!["gateway.passkey.confirmed", "gateway.link.made", "gateway.link.revoked"]
}

fn guest(round: usize) -> String {
    format!("Guest {round}")
}

async fn id_of(phone: &mut Phone, name: &str) -> Value {
    let people = phone.get("/api/v1/house/people").await.is(200);
    let mut people = people.json["people"].as_array().unwrap().iter();
    people.find(|person| person["name"] == name).unwrap()["id"].clone()
}

/// The guest comes at once.
/// A guest comes in, and where they are to, loses everything and comes in again on a phone that was never here: by a code, the link it is
/// good for, and the new passkey.
async fn invites(phone: &mut Phone, behind: &Behind, round: usize, returns: bool) -> Vec<&'static str> {
    let asked = json!({ "name": guest(round), "role": "viewer" });
    let link = phone.post("/auth/people/invite", asked).await.is(200);
    let mut theirs = behind.phone();
    let registered = theirs.register_by(link.json["link"].as_str().unwrap()).await;
    let mut done = vec!["gateway.passkey.confirmed", "gateway.person.invited", "gateway.device.registered"];
    if returns {
        let mut anew = behind.phone();
        let link = anew.post("/auth/recover", json!({ "code": codes(&registered.json)[0] })).await.is(200);
        anew.register_by(link.json["next"].as_str().unwrap()).await;
        assert_eq!(theirs.get("/api/v1/status").await.status, 401, "what they lost ended");
        anew.sign_out().await;
        anew.sign_in().await;
        anew.get("/").await.is(200);
        done.extend(["gateway.code.used", "gateway.device.registered", "gateway.session.started"]);
    }
    done
}

async fn changes_role(phone: &mut Phone, round: usize) -> Vec<&'static str> {
    let id = id_of(phone, &guest(round)).await;
    phone.post("/auth/people/role", json!({ "id": id, "role": "operator" })).await.is(200);
    vec!["gateway.passkey.confirmed", "gateway.role.changed"]
}

async fn removes(phone: &mut Phone, round: usize) -> Vec<&'static str> {
    let id = id_of(phone, &guest(round)).await;
    phone.post("/auth/people/remove", json!({ "id": id })).await.is(200);
    vec!["gateway.passkey.confirmed", "gateway.person.removed"]
}

async fn approves(phone: &mut Phone, ask: &str) -> Vec<&'static str> {
    phone.confirm(&format!("approve:{ask}")).await.is(200);
    vec!["gateway.passkey.confirmed", "approval.verdict.given"]
}

/// The first time down; that a way back was seen to work can be said any number of times.
async fn orders(phone: &mut Phone, round: usize) -> Vec<&'static str> {
    if round == 0 {
        phone.post("/api/v1/hosts/box-1/level", json!({ "to": "observe" })).await.is(200);
        return vec!["holdfast.steward.ordered", "steward.target.level_set"];
    }
    phone.post("/api/v1/hosts/box-1/rehearsed", json!({ "way": "rollback" })).await.is(200);
    vec!["gateway.passkey.confirmed", "holdfast.steward.ordered"]
}

async fn remembers_and_forgets(phone: &mut Phone, round: usize) -> Vec<&'static str> {
    let text = format!("The gateway of stage {round} listens on port {}.", 9_100 + round);
    let added = phone.post("/api/v1/memory/entries", json!({ "text": text })).await.is(200);
    let id = added.json["id"].as_str().unwrap_or_else(|| panic!("{}", added.text));
    phone.ask("DELETE", &format!("/api/v1/memory/entries/{id}"), Value::Null).await.is(200);
    vec!["memory.entry.captured", "gateway.passkey.confirmed", "memory.entry.forgotten"]
}

async fn turns_switch(phone: &mut Phone, which: &str, kind: &'static str) -> Vec<&'static str> {
    let reply = phone.post(&format!("/api/v1/autonomy/{which}"), json!({})).await;
    assert!(reply.status < 300 && reply.json["recorded_as"].is_u64(), "{which}: {}", reply.text);
    vec![kind]
}
