//! The pages before anybody is signed in: sign in, register a passkey, recover, get the certificate. They need the module,
//! because only a script can ask a browser for a passkey; without it they say so.

use holdfast_types::Timestamp;
use maud::{Markup, html};

use crate::frame::{Theme, document, regions};
use crate::pieces::{LINE_MAX, NAME_MAX, bdi, exact, line, local, raw, title, wordmark};

/// What is known of a visitor: nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The house's own name: `holdfast/web-1`.
    pub house: String,
    pub theme: Theme,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignIn {
    /// Where to go afterwards, a path of ours.
    pub next: Option<String>,
    /// Why somebody is here: "Your session has ended."
    pub said: Option<String>,
    /// Nobody has registered yet, so signing in cannot work.
    pub nobody_yet: bool,
    /// There is a certificate to get at `/authority`.
    pub authority: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    /// Who adds another device to themselves; absent for whoever comes by a link.
    pub adding: Option<Adding>,
}

/// Somebody who is signed in and adds a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adding {
    pub name: String,
    pub csrf: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {}

/// The certificate of the house's own authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Names it is good for.
    pub names: Vec<String>,
    /// SHA-256, in pairs of hex digits.
    pub fingerprint: String,
    pub expires: Option<Timestamp>,
    /// Where it is downloaded: as a certificate, and as a profile for Apple's devices.
    pub certificate: String,
    pub profile: Option<String>,
}

/// A page without a rail.
pub(crate) fn outside(at: &Outside, name: &str, body: Markup) -> String {
    outside_with(at, name, &html! {}, body)
}

fn outside_with(at: &Outside, name: &str, head: &Markup, body: Markup) -> String {
    let content = html! {
        a.skip href="#main" { "To the content" }
        header.door { a.brand href="/" { (wordmark()) } p.note { (bdi(&at.house, NAME_MAX)) } }
        main #main.door tabindex="-1" { (body) }
        (regions())
    };
    document(at.theme, name, head, None, content)
}

/// `/login`.
pub fn sign_in(at: &Outside, view: &SignIn) -> String {
    let body = html! {
        (title(None, html! { "Sign in" }))
        @if let Some(said) = &view.said { p.said role="status" { (bdi(said, LINE_MAX)) } }
        @if view.nobody_yet {
            p { "Nobody has registered here yet. On the machine, " code { "holdfast gateway link" } " prints a link." }
        } @else {
            p { "Your device asks for your fingerprint, your face or its PIN. There is no password." }
            p.buttons {
                button.primary.wide type="button" data-passkey="login" data-next=[view.next.as_deref().and_then(local)] {
                    "Sign in with a passkey"
                }
            }
        }
        (without_module())
        ul.ways {
            @if !view.nobody_yet { li { a href="/recovery" { "I have lost my device" } } }
            @if view.authority { li { a href="/authority" { "My browser does not trust this address" } } }
        }
    };
    outside(at, "Sign in", body)
}

/// `/register`: the token of the link is behind the `#`, where no server and no log sees it; the module reads it.
pub fn register(at: &Outside, view: &Register) -> String {
    let head = html! {
        @if let Some(adding) = &view.adding { meta name="csrf" content=(adding.csrf); }
    };
    let heading = if view.adding.is_some() { "Add another device" } else { "Make your passkey" };
    let body = html! {
        (title(None, html! { (heading) }))
        // All of it goes with the form, once there is a passkey: what is to be kept then stands alone.
        form data-passkey="register" data-prove=[view.adding.is_some().then_some("")] {
            p {
                @match &view.adding {
                    Some(adding) => { "It will sign in as " (bdi(&adding.name, NAME_MAX)) ", like the ones you have. You are asked for one of those first." },
                    None => "Your device keeps it, and asks for your fingerprint, your face or its PIN when you sign in.",
                }
            }
            label.field {
                span { "What to call this device" }
                input type="text" name="label" maxlength="60" required autocomplete="off" placeholder="Phone";
            }
            div.buttons { button.primary.wide { "Make a passkey" } }
            @if view.adding.is_none() { p.note { "The link works once and for a quarter of an hour. Whoever sent it can make another." } }
        }
        (without_module())
        (codes_panel())
        @if view.adding.is_some() { p.back { a href="/settings" { "Back to settings" } } }
    };
    outside_with(at, heading, &head, body)
}

/// Where the module shows what is shown only once.
pub(crate) fn codes_panel() -> Markup {
    html! {
        section #once.inset.once aria-labelledby="once-h" tabindex="-1" hidden
            data-codes="Your recovery codes. Each lets you in once, when every device is lost; older ones do not work any more. They are shown now and never again."
            data-token="The token. It is shown now and never again."
            data-link="The link. It works once and for a quarter of an hour." {
            h2 #once-h { "Keep this now" }
            p #once-said {}
            ol #once-list.codes {}
            div.buttons {
                button type="button" data-copy-of="once-list" { "Copy" }
                button type="button" data-print { "Print" }
            }
            p { label.check { input #once-kept type="checkbox"; " I have kept it" } }
            p { button #once-on.primary type="button" disabled { "Go on" } }
        }
    }
}

/// `/recovery`.
pub fn recovery(at: &Outside, _: &Recovery) -> String {
    let body = html! {
        (title(None, html! { "I have lost my device" }))
        p { "One of the ten codes you kept lets you make a new passkey. It works once, and your other devices stay as they are." }
        form data-recover {
            label.field {
                span { "Recovery code" }
                input type="text" name="code" maxlength="80" required autocomplete="off" autocapitalize="none" spellcheck="false";
            }
            div.buttons { button.primary.wide { "Go on" } }
        }
        (without_module())
        section aria-labelledby="none-left" {
            h2 #none-left { "No code left either?" }
            p { "Whoever owns the home on the machine can let you in again: " code { "holdfast gateway link" } "." }
        }
        p.back { a href="/login" { "Back to signing in" } }
    };
    outside(at, "I have lost my device", body)
}

/// `/authority`: how a telephone comes to trust this address. Browsers offer no passkeys where they warn of a certificate.
pub fn authority(at: &Outside, view: &Authority) -> String {
    let certificate = local(&view.certificate).unwrap_or("/authority");
    let body = html! {
        (title(None, html! { "Trust this address" }))
        p { "This house has its own certificate authority, made on its own machine. Once your device knows it, the warning goes away and passkeys work. It counts for these names only:" }
        ul.names { @for name in view.names.iter().take(20) { li { code { (line(name, NAME_MAX)) } } } }
        p.buttons {
            a.button.primary.wide href=(certificate) download { "Get the certificate" }
        }
        section aria-labelledby="ios" {
            h2 #ios { "iPhone and iPad" }
            ol.steps {
                @if let Some(profile) = view.profile.as_deref().and_then(local) {
                    li { a href=(profile) download { "Get the profile" } ", and allow the download." }
                } @else {
                    li { "Get the certificate above, and allow the download." }
                }
                li { "Settings, General, VPN & Device Management: install the profile." }
                li { "Settings, General, About, Certificate Trust Settings: switch it on." }
            }
        }
        section aria-labelledby="android" {
            h2 #android { "Android" }
            ol.steps {
                li { "Get the certificate above." }
                li { "Settings, Security, More, Encryption & credentials, Install a certificate, CA certificate." }
                li { "Choose the file that was downloaded." }
            }
        }
        section aria-labelledby="compare" {
            h2 #compare { "Compare before you trust it" }
            p { "The machine itself prints the same with " code { "holdfast gateway authority" } ":" }
            (raw("fingerprint", "Fingerprint of the certificate, SHA-256", &view.fingerprint))
            @if let Some(expires) = view.expires { p.note { "Good until " (exact(expires)) "." } }
        }
        p.back { a href="/login" { "Back to signing in" } }
    };
    outside(at, "Trust this address", body)
}

fn without_module() -> Markup {
    html! {
        noscript { p.said { "This needs JavaScript: only a script can ask a browser for a passkey. All other pages work without." } }
    }
}
