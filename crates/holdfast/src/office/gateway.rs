//! The gateway's accounts, for whoever has the machine: who may come in, and a way in for somebody who has none.

use std::net::Ipv4Addr;
use std::sync::Arc;

use holdfast_control::{Answer, GatewayAnswer, GatewayAsk, GatewayLink, GatewayOpenLink, GatewayPerson};
use holdfast_gateway::{Acting, PersonName};
use holdfast_types::Actor;

use super::Office;
use crate::gateway::{AtTheMachine, accounts_of};
use crate::problem::{CliError, Result};

/// What the first owner is called until somebody says otherwise.
const FIRST: &str = "owner";

impl Office {
    pub(super) fn gateway(&self, ask: GatewayAsk) -> Result<Answer> {
        Ok(Answer::Gateway(match ask {
            GatewayAsk::People => GatewayAnswer::People(self.gateway_people()?),
            GatewayAsk::Links => GatewayAnswer::Links(self.gateway_links()?),
            GatewayAsk::Link { person, actor } => {
                GatewayAnswer::Link(self.gateway_link(person.as_deref(), &actor)?)
            }
        }))
    }

    fn gateway_people(&self) -> Result<Vec<GatewayPerson>> {
        // Asking makes nothing.
        if self.accounts.get().is_none() && !self.house.places.gateway_db().exists() {
            return Ok(Vec::new());
        }
        let accounts = accounts_of(self)?;
        let mut people = Vec::new();
        for person in accounts.people()? {
            people.push(GatewayPerson {
                sessions: u32::try_from(accounts.sessions(person.id)?.len()).unwrap_or(u32::MAX),
                id: person.id.to_string(),
                name: person.name.to_string(),
                role: person.role.as_str().to_owned(),
                created: person.created,
                devices: person.devices,
            });
        }
        Ok(people)
    }

    fn gateway_links(&self) -> Result<Vec<GatewayOpenLink>> {
        if self.accounts.get().is_none() && !self.house.places.gateway_db().exists() {
            return Ok(Vec::new());
        }
        let shown = |link: holdfast_gateway::OpenLink| GatewayOpenLink {
            id: link.id.to_string(),
            purpose: link.purpose.as_str().to_owned(),
            name: link.name.to_string(),
            role: link.role.as_str().to_owned(),
            created: link.created,
            expires: link.expires,
        };
        Ok(accounts_of(self)?.open_links()?.into_iter().map(shown).collect())
    }

    /// A link for the first owner while there is none; for somebody who is known, one to add a device with. It is recorded, or not made.
    pub(crate) fn gateway_link(&self, person: Option<&str>, actor: &Actor) -> Result<GatewayLink> {
        let (journal, actor) = (self.journal.clone(), actor.clone());
        let here = Ipv4Addr::LOCALHOST.into();
        let accounts = Acting::new(accounts_of(self)?, Arc::new(AtTheMachine { journal, actor }), here);
        let unfit = |e: &dyn std::fmt::Display| CliError::Usage { message: format!("the name: {e}") };
        let (name, link) = match (person, accounts.has_owner()?) {
            (person, false) => {
                let name: PersonName = person.unwrap_or(FIRST).parse().map_err(|e| unfit(&e))?;
                let link = accounts.first_link(&name)?;
                (name.to_string(), link)
            }
            (Some(person), true) => {
                let known = accounts.person_named(person)?;
                (known.name.to_string(), accounts.recovery_link(known.id)?)
            }
            (None, true) => return Err(CliError::WhichPerson.into()),
        };
        let url = format!("{}{}", accounts.site().origin(), link.path());
        Ok(GatewayLink { name, url, expires: link.expires, replaced: link.replaced })
    }
}
