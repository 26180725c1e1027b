//! What the forms of pages do, who may, and what each takes besides: one table. A form that is not in it is refused.
//!
//! Pausing, undoing and looking are easy. What lets machines do more by themselves, says what a person has seen, or
//! destroys, takes a passkey that was used for exactly that.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use holdfast_gateway::{Act, Brought, Caller, Proof, Role, Signed};
use http::StatusCode;
use http::request::Parts;

use super::app::App;

/// A form of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) path: &'static str,
    pub(crate) least: Role,
    pub(crate) proof: Proof,
    /// What the passkey is asked for; the names of the path stand in braces.
    pub(crate) shown: &'static str,
    /// Who may when it goes the way that takes no passkey.
    pub(crate) quieter: Role,
}

const fn form(path: &'static str, least: Role) -> Form {
    Form { path, least, proof: Proof::None, shown: "", quieter: least }
}

const fn proved(path: &'static str, least: Role, shown: &'static str) -> Form {
    Form { proof: Proof::Passkey, shown, ..form(path, least) }
}

/// Every form but those of accounts, which the gateway's own room has.
pub(crate) const FORMS: &[Form] = &[
    form("/pause", Role::Operator),
    proved("/resume", Role::Operator, "Let every host act again as far as its level allows."),
    form("/hosts/{host}/trigger", Role::Operator),
    form("/hosts/{host}/rollback", Role::Operator),
    proved("/hosts/{host}/accept", Role::Operator, "Accept {host} as it is now."),
    proved("/hosts/{host}/reset", Role::Operator, "Let {host} try again after its breaker opened."),
    // More autonomy is an owner's to give; none is anybody's who may act.
    Form {
        proof: Proof::PasskeyUnless { field: "level", is: "observe" },
        quieter: Role::Operator,
        ..proved("/hosts/{host}/level", Role::Owner, "Let {host} do more by itself.")
    },
    proved("/memory/{agent}/{id}/forget", Role::Owner, "Forget a memory for ever."),
    form("/audit/verify", Role::Operator),
    form("/settings/notice/test", Role::Operator),
];

impl Form {
    /// The form that is sent to this path.
    pub(crate) fn at(path: &str) -> Option<&'static Form> {
        let path = path.split('?').next().unwrap_or_default();
        FORMS.iter().find(|form| named(form.path, path).is_some())
    }

    /// Who may do this.
    pub(crate) fn least_for(&self, act: &Act) -> Role {
        if self.proof.asks(act.fields()) { self.least } else { self.quieter }
    }

    /// What the passkey is asked for.
    pub(crate) fn shown_for(&self, act: &Act) -> String {
        let path = act.to().split('?').next().unwrap_or_default();
        let names = named(self.path, path).unwrap_or_default();
        names.iter().fold(self.shown.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// The names in a path, when it is one of this form: each with its braces.
fn named<'a>(template: &'static str, path: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let (fixed, pieces): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    if fixed.len() != pieces.len() {
        return None;
    }
    let mut names = Vec::new();
    for (name, piece) in fixed.into_iter().zip(pieces) {
        match name.starts_with('{') {
            true if !piece.is_empty() => names.push((name, piece)),
            false if name == piece => {}
            _ => return None,
        }
    }
    Some(names)
}

/// A form that was sent: by whom, from where, and what is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) who: Signed,
    pub(crate) from: Caller,
    pub(crate) brought: Brought,
}

impl Posted {
    /// A field of it.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.brought.act.fields().get(name).and_then(|value| value.as_str()).map(str::to_owned)
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.field("reason").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn takes_passkey(&self) -> bool {
        let act = &self.brought.act;
        Form::at(act.to()).is_some_and(|form| form.proof.asks(act.fields()))
    }

    /// Passes whoever may do it, with a passkey where it takes one. Refusals are recorded.
    pub(crate) async fn passes(&self, app: &App) -> Result<(), holdfast_gateway::Error> {
        let act = &self.brought.act;
        let refused = |e: &holdfast_gateway::Error| app.gate.record(e, Some(&self.who), self.from.address);
        let form = Form::at(act.to()).ok_or(holdfast_gateway::Error::NotFound { what: "form" })?;
        app.gate.require(&self.who, form.least_for(act), self.from)?;
        if self.takes_passkey() {
            let proof = self.brought.proof.as_deref();
            app.gate.prove(&self.who, proof, act, self.from).await.inspect_err(refused)?;
        }
        Ok(())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Posted {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Posted, Response> {
        let from = parts.extensions.get::<Caller>().copied().unwrap_or_default();
        let who = parts.extensions.get::<Signed>().cloned();
        let brought = parts.extensions.get::<Brought>().cloned();
        let (Some(who), Some(brought)) = (who, brought) else {
            // The guard reads every form that a session sends; anything else is none.
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response());
        };
        Ok(Posted { who, from, brought })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(to: &str, fields: &[(&str, &str)]) -> Act {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        Act::new("POST", to, fields)
    }

    #[test]
    fn a_form_is_found_by_its_path_and_says_who_may() {
        let more = act("/hosts/box-1/level", &[("level", "autonomous")]);
        let form = Form::at(more.to()).unwrap();
        assert!(form.proof.asks(more.fields()));
        assert_eq!(
            (form.least_for(&more), form.shown_for(&more).as_str()),
            (Role::Owner, "Let box-1 do more by itself.")
        );
        let none = act("/hosts/box-1/level", &[("level", "observe")]);
        assert!(!form.proof.asks(none.fields()));
        assert_eq!(form.least_for(&none), Role::Operator);
        for path in ["/hosts/box-1/other", "/hosts//level", "/hosts/a/b/level", "/", "/pause/", "/resume/x"] {
            assert!(Form::at(path).is_none(), "{path}");
        }
    }

    #[test]
    fn what_takes_a_passkey_says_what_for_and_stopping_never_does() {
        for form in FORMS {
            assert_eq!(form.proof != Proof::None, !form.shown.is_empty(), "{}", form.path);
            assert!(form.least >= Role::Operator, "{}", form.path);
        }
        for path in ["/pause", "/hosts/box-1/rollback"] {
            assert_eq!(Form::at(path).unwrap().proof, Proof::None, "{path}");
        }
    }
}
