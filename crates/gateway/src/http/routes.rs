//! The table of `/auth/`: what there is, and what each takes. All are POST.

use axum::Router;
use axum::extract::Request;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{any, post};

use super::call::{Answer, Call, serve};
use super::gate::{GateState, Manner};
use super::{account, confirm, entry};
use crate::error::{Error, Result};
use crate::headers::dress;
use crate::proof::Proof;
use crate::role::Role;

/// What a call takes before it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing but our own origin. What it brings along says whether it may.
    Anyone,
    /// A session with this role and its anti-forgery word, and what this act takes besides.
    Session { least: Role, proof: Proof },
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct AuthRoute {
    pub path: &'static str,
    pub need: Need,
    /// What the passkey is asked for, as a sentence; for those that ask for one.
    pub shown: &'static str,
    act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    RegisterStart,
    RegisterFinish,
    SignInStart,
    SignInFinish,
    Recover,
    ConfirmStart,
    ConfirmFinish,
    SignOut,
    RemoveDevice,
    RenameDevice,
    LinkDevice,
    EndSessions,
    RenewCodes,
    Invite,
    SetRole,
    RemovePerson,
    MakeToken,
    RevokeToken,
    RevokeLink,
    KnowNews,
}

const fn anyone(path: &'static str, act: Act) -> AuthRoute {
    AuthRoute { path, need: Need::Anyone, shown: "", act }
}

const fn signed_in(path: &'static str, act: Act) -> AuthRoute {
    AuthRoute { path, need: Need::Session { least: Role::Viewer, proof: Proof::None }, shown: "", act }
}

/// With a passkey in that very request: what makes a way in, or takes something away for good.
const fn proved(path: &'static str, least: Role, act: Act, shown: &'static str) -> AuthRoute {
    AuthRoute { path, need: Need::Session { least, proof: Proof::Passkey }, shown, act }
}

const ADD_DEVICE: &str = "Use a device you have already; then add the new one.";

/// Everything below `/auth/`.
pub const ROUTES: &[AuthRoute] = &[
    // Without a link it adds a device to somebody who is signed in, and then takes a passkey they have already.
    AuthRoute { shown: ADD_DEVICE, ..anyone("/auth/register/start", Act::RegisterStart) },
    anyone("/auth/register/finish", Act::RegisterFinish),
    anyone("/auth/login/start", Act::SignInStart),
    anyone("/auth/login/finish", Act::SignInFinish),
    anyone("/auth/recover", Act::Recover),
    anyone("/auth/logout", Act::SignOut),
    signed_in("/auth/confirm/start", Act::ConfirmStart),
    signed_in("/auth/confirm/finish", Act::ConfirmFinish),
    signed_in("/auth/devices/rename", Act::RenameDevice),
    proved("/auth/devices/remove", Role::Viewer, Act::RemoveDevice, "Remove a device of yours."),
    proved("/auth/devices/link", Role::Viewer, Act::LinkDevice, "Make a link that adds a device to you."),
    // Whoever has stolen a session may end that one, and not the one in which its person would end theirs.
    AuthRoute {
        need: Need::Session {
            least: Role::Viewer,
            proof: Proof::PasskeyUnless { field: "id", is: account::THIS },
        },
        ..proved("/auth/sessions/end", Role::Viewer, Act::EndSessions, "End sessions of yours.")
    },
    proved("/auth/links/revoke", Role::Viewer, Act::RevokeLink, "Revoke an open link."),
    proved("/auth/news/known", Role::Viewer, Act::KnowNews, "Say that you know what is new in your name."),
    proved(
        "/auth/codes/renew",
        Role::Viewer,
        Act::RenewCodes,
        "Make ten new recovery codes; the old ones end.",
    ),
    proved("/auth/people/invite", Role::Owner, Act::Invite, "Make a link that lets somebody in."),
    proved("/auth/people/role", Role::Owner, Act::SetRole, "Give somebody another role."),
    proved("/auth/people/remove", Role::Owner, Act::RemovePerson, "Remove somebody."),
    proved("/auth/tokens/make", Role::Viewer, Act::MakeToken, "Make a token for scripts."),
    signed_in("/auth/tokens/revoke", Act::RevokeToken),
];

/// The routes below `/auth/`. They stand guard for themselves; do not put [`guard`](crate::guard()) before them.
pub fn router(gate: &GateState) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let gate = gate.clone();
        let handler = move |request: Request| serve(gate.clone(), route, request);
        router = router.route(route.path, post(handler));
    }
    let (gate, https) = (gate.clone(), gate.site().https());
    let nothing =
        move || std::future::ready(gate.refusal(&Error::NotFound { what: "page" }, Manner::Json, None));
    // Last, so that it covers what the routes do not answer themselves, such as a wrong method.
    router.route("/auth/{*rest}", any(nothing)).layer(map_response(move |mut answer: Response| {
        dress(answer.headers_mut(), https);
        std::future::ready(answer)
    }))
}

pub(super) async fn dispatch(route: &AuthRoute, call: Call) -> Result<Answer> {
    match route.act {
        Act::RegisterStart => entry::register_start(call).await,
        Act::RegisterFinish => entry::register_finish(call).await,
        Act::SignInStart => entry::sign_in_start(call).await,
        Act::SignInFinish => entry::sign_in_finish(call).await,
        Act::Recover => entry::recover(call).await,
        Act::SignOut => entry::sign_out(call).await,
        Act::ConfirmStart => confirm::start(call).await,
        Act::ConfirmFinish => confirm::finish(call).await,
        Act::RemoveDevice => account::remove_device(call).await,
        Act::RenameDevice => account::rename_device(call).await,
        Act::LinkDevice => account::link_device(call).await,
        Act::EndSessions => account::end_sessions(call).await,
        Act::RenewCodes => account::renew_codes(call).await,
        Act::Invite => account::invite(call).await,
        Act::SetRole => account::set_role(call).await,
        Act::RemovePerson => account::remove_person(call).await,
        Act::MakeToken => account::make_token(call).await,
        Act::RevokeToken => account::revoke_token(call).await,
        Act::RevokeLink => account::revoke_link(call).await,
        Act::KnowNews => account::know_news(call).await,
    }
}
