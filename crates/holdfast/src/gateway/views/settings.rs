//! Settings: your own devices and sessions, people, tokens, notifications, and the house itself.

use std::time::Duration;

use holdfast_gateway::{LinkPurpose, NewsKind, OpenLink, Role, Scope, Signed};
use holdfast_keys::Role as KeyRole;
use holdfast_pages::{
    Channel, Device, House, KeyLine, Link, Member, News, Notices, Once, Part, People, Session, TokenLine,
    Tokens, TrustKind, You,
};

use super::Views;
use crate::house::ArchiveArgs;
use crate::problem::Result;

impl Views {
    pub(crate) fn you(&self, who: &Signed, once: Option<Once>) -> Result<You> {
        let here = who.session();
        let devices = self.accounts.devices(who.person)?.into_iter().map(|device| Device {
            id: device.id.to_string(),
            label: device.label.to_string(),
            created: device.created,
            last_used: device.used,
            doubtful: device.doubted.is_some(),
        });
        let sessions = self.accounts.sessions(who.person)?.into_iter().map(|session| Session {
            id: session.id.to_string(),
            label: format!("{}, with {}", session.agent, session.device),
            created: session.created,
            last_seen: session.seen,
            here: Some(session.id) == here,
        });
        Ok(You {
            devices: devices.collect(),
            codes_left: self.accounts.codes_left(who.person)? as u64,
            sessions: sessions.collect(),
            links: self.links(|link| link.person == who.person || link.made_by == Some(who.person))?,
            news: self.accounts.news(who)?.into_iter().map(news_of).collect(),
            once,
        })
    }

    pub(crate) fn people(&self, who: &Signed, once: Option<Once>) -> Result<People> {
        let mut people = Vec::new();
        for person in self.accounts.people()? {
            let last_seen = self.accounts.sessions(person.id)?.iter().map(|session| session.seen).max();
            people.push(Member {
                id: person.id.to_string(),
                name: person.name.to_string(),
                role: role(person.role),
                created: person.created,
                last_seen,
                devices: u64::from(person.devices),
                you: person.id == who.person,
            });
        }
        Ok(People { people, links: self.links(|_| true)?, once })
    }

    /// Open links, those that are wanted.
    fn links(&self, wanted: impl Fn(&OpenLink) -> bool) -> Result<Vec<Link>> {
        let open = self.accounts.open_links()?.into_iter().filter(|link| wanted(link));
        let shown = open.map(|link| {
            let what = match link.purpose {
                LinkPurpose::First => format!("The first owner, {}", link.name),
                LinkPurpose::Invitation => format!("An invitation for {}, as {}", link.name, link.role),
                LinkPurpose::Device => format!("Another device for {}", link.name),
                LinkPurpose::Recovered => format!("A new device for {}, who lost theirs", link.name),
            };
            Link { id: link.id.to_string(), what, created: link.created, expires: link.expires }
        });
        Ok(shown.collect())
    }

    /// An owner sees all tokens, everybody else their own.
    pub(crate) fn tokens(&self, who: &Signed, once: Option<Once>) -> Result<Tokens> {
        let all = if who.role >= Role::Owner {
            self.accounts.tokens()?
        } else {
            self.accounts.tokens_of(who.person)?
        };
        let line = |token: holdfast_gateway::TokenSeen| TokenLine {
            id: token.id.to_string(),
            name: token.name.to_string(),
            scope: scope(token.scope),
            by: token.person_name.to_string(),
            created: token.created,
            expires: Some(token.expires),
            last_used: token.used,
            revoked: token.revoked.is_some(),
        };
        Ok(Tokens { tokens: all.into_iter().map(line).collect(), once })
    }

    pub(crate) fn notices(&self) -> Result<Notices> {
        let state = self.office.notices()?;
        let channel = |sink: holdfast_control::SinkState| Channel {
            name: sink.sink,
            pending: sink.pending,
            delivered: sink.delivered,
            abandoned: sink.abandoned,
            last_delivered: sink.last_delivered,
            last_error: sink.last_error,
            quiet_until: sink.quiet_until,
            least_severity: None,
        };
        Ok(Notices { enabled: state.enabled, channels: state.sinks.into_iter().map(channel).collect() })
    }

    pub(crate) fn house(&self) -> Result<House> {
        let status = self.status()?;
        let trust = self.office.house.trust()?;
        let view = self.office.house.view(&ArchiveArgs::default())?;
        let signed = view.latest_checkpoint()?;
        let log_key = crate::house::present_key(&trust, view.origin(), &signed.checkpoint, &signed.note)
            .map(|key| key.to_string());
        let own = holdfast_keys::file::read_key(&self.office.house.places.gateway_key(), KeyRole::Approvals);
        let browser = own.ok().map(|own| own.key.public().id());
        let key = |key: &holdfast_keys::TrustedKey| KeyLine {
            name: key.name().to_string(),
            kind: match key.role() {
                KeyRole::Log => TrustKind::Log,
                KeyRole::Witness => TrustKind::Witness,
                KeyRole::Approvals if Some(key.id()) == browser => TrustKind::Browser,
                KeyRole::Approvals => TrustKind::Approvals,
                KeyRole::Manifest => TrustKind::Manifest,
                KeyRole::Policy => TrustKind::Policy,
                KeyRole::History => TrustKind::History,
            },
            fingerprint: key.id().to_string(),
            revoked: key.revoked().is_some(),
        };
        let part = |part: &holdfast_control::PartLine| Part {
            name: part.name.clone(),
            running: part.state == "running",
            word: part.state.clone(),
            why: part.why.clone(),
            restarts: part.restarts,
        };
        Ok(House {
            origin: status.journal.origin.to_string(),
            version: status.version.clone(),
            up: status.up_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            log_key: log_key.unwrap_or_default(),
            keys: trust.keys().map(key).collect(),
            parts: status.parts.iter().map(part).collect(),
            disk_used: status.disk.used_bytes,
            disk_budget: status.disk.budget_bytes,
            disk_level: status.disk.level.clone(),
            journal_entries: status.journal.entries,
            journal_bytes: status.journal.bytes,
            index_behind: status.projections.iter().map(|one| one.behind).max().unwrap_or(0),
        })
    }
}

fn news_of(news: holdfast_gateway::News) -> News {
    let what = match news.kind {
        NewsKind::Passkey => format!("The passkey {}", news.name),
        NewsKind::Token => format!("The token {}", news.name),
        NewsKind::Link => format!("A link: {}", news.name),
        NewsKind::Codes => "Recovery codes".to_owned(),
    };
    News { id: news.id, what, at: news.at }
}

pub(crate) const fn role(role: Role) -> holdfast_pages::Role {
    match role {
        Role::Viewer => holdfast_pages::Role::Viewer,
        Role::Operator => holdfast_pages::Role::Operator,
        Role::Owner => holdfast_pages::Role::Owner,
    }
}

const fn scope(scope: Scope) -> holdfast_pages::Scope {
    match scope {
        Scope::Read => holdfast_pages::Scope::Read,
        Scope::Act => holdfast_pages::Scope::Act,
        Scope::Manage => holdfast_pages::Scope::Manage,
    }
}
