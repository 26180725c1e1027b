//! Values that are fine alone and cannot work together. Each names every key it is about, with its place.

use holdfast_guard::{CustomPattern, Guard, Settings};

use crate::forms::{Argument, HostName, RemoteUrl};
use crate::pattern::Pattern;
use crate::reader::Reader;
use crate::sections::{
    CertificateFrom, Channel, Config, Forge, Gateway, Mail, MailSecurity, Notifications, SecretSource,
};
use crate::value::Value;

pub(crate) fn check(config: &Config, reader: &mut Reader<'_>) {
    health(config, reader);
    journal(config, reader);
    notifications(config, reader);
    approvals(config, reader);
    gateway(config, reader);
    credentials(config, reader);
    guard(config, reader);
    steward(config, reader);
    history(config, reader);
}

fn health(config: &Config, reader: &mut Reader<'_>) {
    let health = &config.health;
    let listen = ("health.listen", health.listen.shown());
    if !health.listen.ip().is_loopback() && !health.allow_remote {
        reader.combination(
            &[listen, ("health.allow_remote", health.allow_remote.shown())],
            &format!(
                "`health.listen` is {}, which other machines may reach, and `health.allow_remote` is false",
                health.listen
            ),
            "use `127.0.0.1`, or set `allow_remote: true` if they are meant to",
        );
    }
    if health.timeout_seconds >= health.interval_minutes * 60 {
        reader.combination(
            &[
                ("health.timeout_seconds", health.timeout_seconds.shown()),
                ("health.interval_minutes", health.interval_minutes.shown()),
            ],
            &format!(
                "`health.timeout_seconds` is {}, \
                 and with `health.interval_minutes` {} the next round begins after {} seconds",
                health.timeout_seconds,
                health.interval_minutes,
                health.interval_minutes * 60
            ),
            "choose a shorter `timeout_seconds`, or a longer `interval_minutes`",
        );
    }
}

fn approvals(config: &Config, reader: &mut Reader<'_>) {
    let door = &config.approvals.webhook;
    let Some(listen) = door.listen.filter(|listen| !listen.ip().is_loopback() && !door.allow_remote) else {
        return;
    };
    reader.combination(
        &[
            ("approvals.webhook.listen", listen.shown()),
            ("approvals.webhook.allow_remote", door.allow_remote.shown()),
        ],
        &format!(
            "`approvals.webhook.listen` is {listen}, which other machines may reach, \
             and `approvals.webhook.allow_remote` is false"
        ),
        "use `127.0.0.1` and a proxy that encrypts, or set `allow_remote: true` if they are meant to",
    );
}

/// The door is on loopback, encrypted or behind a proxy, a certificate has what it needs, and its address is one that passkeys can belong to.
fn gateway(config: &Config, reader: &mut Reader<'_>) {
    let Gateway { enabled, listen, address, proxies, tls, .. } = &config.gateway;
    if !*enabled {
        return;
    }
    let from = || ("gateway.tls.from", tls.from.shown());
    let plain = tls.from == CertificateFrom::Nowhere;
    if plain && !listen.ip().is_loopback() {
        reader.combination(
            &[("gateway.listen", listen.shown()), from()],
            &format!(
                "`gateway.listen` is {listen}, which other machines may reach, and `gateway.tls.from` is none"
            ),
            "use `127.0.0.1`, or say where a certificate comes from: `files`, `local`, `acme`, or `proxy` for one in front",
        );
    }
    let (secure, host) = match address.as_ref().map(|address| address.as_str()) {
        None => (false, "localhost"),
        Some(address) => (address.starts_with("https://"), address.split("://").nth(1).unwrap_or_default()),
    };
    // An address of IPv6 stands in brackets.
    let numbers = host.starts_with('[');
    let host = host.split([':', '/']).next().unwrap_or_default();
    let is_numbers = numbers || host.parse::<std::net::Ipv4Addr>().is_ok();
    let at_home = plain && host == "localhost";
    if is_numbers {
        reader.combination(
            &[("gateway.address", address.shown())],
            "`gateway.address` is an address in numbers, and passkeys belong to names",
            "use a name that leads here, or leave `gateway.address` out for `http://localhost`",
        );
    } else if !(secure || at_home) {
        reader.combination(
            &[("gateway.address", address.shown()), from()],
            "`gateway.address` is plain HTTP, and browsers have passkeys for `https://` and for `http://localhost` alone",
            "set `gateway.address` to the `https://` address that people use",
        );
    }
    if secure && plain {
        reader.combination(
            &[("gateway.address", address.shown()), from()],
            "`gateway.address` is `https://`, and with `gateway.tls.from` none nobody here speaks TLS",
            "say `proxy` and `gateway.proxies` if a proxy in front does, or where a certificate comes from: `files`, `local` or `acme`",
        );
    }
    if tls.from != CertificateFrom::Proxy && !proxies.is_empty() {
        reader.combination(
            &[("gateway.proxies", proxies.shown()), from()],
            &format!("`gateway.proxies` names proxies, and `gateway.tls.from` is {}", tls.from.shown()),
            "set `gateway.tls.from` to `proxy`, or leave `gateway.proxies` out",
        );
    }
    let missing = match tls.from {
        CertificateFrom::Files if tls.chain.is_none() => Some(("gateway.tls.chain", tls.chain.shown())),
        CertificateFrom::Files if tls.key.is_none() => Some(("gateway.tls.key", tls.key.shown())),
        CertificateFrom::Acme if tls.directory.is_none() => {
            Some(("gateway.tls.directory", tls.directory.shown()))
        }
        CertificateFrom::Proxy if proxies.is_empty() => Some(("gateway.proxies", proxies.shown())),
        _ => None,
    };
    if let Some((name, shown)) = missing {
        reader.combination(
            &[from(), (name, shown)],
            &format!("`gateway.tls.from` is {}, and `{name}` is not set", tls.from.shown()),
            &format!("set `{name}`"),
        );
    }
}

/// The same that the journal asks for when it is opened, said here with the places.
fn journal(config: &Config, reader: &mut Reader<'_>) {
    let journal = &config.journal;
    let retained = u64::from(journal.segment_mib) * u64::from(journal.keep_segments);
    let warn = || ("journal.warn_mib", journal.warn_mib.shown());
    if u64::from(journal.warn_mib) < retained {
        reader.combination(
            &[
                warn(),
                ("journal.segment_mib", journal.segment_mib.shown()),
                ("journal.keep_segments", journal.keep_segments.shown()),
            ],
            &format!(
                "`journal.warn_mib` is {}, \
                 and `journal.segment_mib` times `journal.keep_segments` is {retained}, so the warning would never end",
                journal.warn_mib
            ),
            &format!("set `warn_mib` to {retained} or more, or choose smaller or fewer segments"),
        );
    }
    if journal.cap_mib <= journal.warn_mib {
        reader.combination(
            &[("journal.cap_mib", journal.cap_mib.shown()), warn()],
            &format!(
                "`journal.cap_mib` is {}, and `journal.warn_mib` is {}, so the warning would come too late",
                journal.cap_mib, journal.warn_mib
            ),
            "set `cap_mib` above `warn_mib`",
        );
    }
}

/// A channel that is named has what it needs. What is wrong with one that is not named is left until it is.
fn notifications(config: &Config, reader: &mut Reader<'_>) {
    let notifications = &config.notifications;
    let Notifications { channels, webhook, slack, discord, ntfy, mail, .. } = notifications;
    let needed = [
        (Channel::Webhook, "notifications.webhook.url", webhook.url.is_some(), webhook.url.shown()),
        (
            Channel::Webhook,
            "notifications.webhook.sign_with",
            webhook.sign_with.is_some(),
            webhook.sign_with.shown(),
        ),
        (Channel::Slack, "notifications.slack.url", slack.url.is_some(), slack.url.shown()),
        (Channel::Discord, "notifications.discord.url", discord.url.is_some(), discord.url.shown()),
        (Channel::Ntfy, "notifications.ntfy.topic", ntfy.topic.is_some(), ntfy.topic.shown()),
        (Channel::Mail, "notifications.mail.host", mail.host.is_some(), mail.host.shown()),
        (Channel::Mail, "notifications.mail.from", mail.from.is_some(), mail.from.shown()),
        (Channel::Mail, "notifications.mail.to", !mail.to.is_empty(), mail.to.shown()),
    ];
    for (channel, path, is_set, shown) in needed {
        if is_set || !channels.contains(&channel) {
            continue;
        }
        let (word, example) = (channel.word(), example(path));
        reader.combination(
            &[("notifications.channels", channels.shown()), (path, shown)],
            &format!("`notifications.channels` has `{word}`, and `{path}` is not set"),
            &format!("set `{path}` to `{example}`, or take `{word}` out of `channels`"),
        );
    }
    if channels.contains(&Channel::Mail) {
        the_mail(mail, reader);
    }
}

fn example(path: &str) -> &'static str {
    match path {
        "notifications.mail.host" => "mail.example.org",
        "notifications.mail.from" => "holdfast@example.org",
        "notifications.mail.to" => "[ops@example.org]",
        _ => "{ secret: name }",
    }
}

/// The same that the sink asks for when it is made, said here with the places.
fn the_mail(mail: &Mail, reader: &mut Reader<'_>) {
    if mail.user.is_some() != mail.password.is_some() {
        reader.combination(
            &[
                ("notifications.mail.user", mail.user.shown()),
                ("notifications.mail.password", mail.password.shown()),
            ],
            "of `notifications.mail.user` and `notifications.mail.password` only one is set",
            "set both to `{ secret: name }`, or neither",
        );
    }
    let is_here = |host: &HostName| {
        host.as_str() == "localhost"
            || host.as_str().parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    if mail.security == MailSecurity::Nothing && mail.host.as_ref().is_some_and(|host| !is_here(host)) {
        reader.combination(
            &[
                ("notifications.mail.security", mail.security.shown()),
                ("notifications.mail.host", mail.host.shown()),
            ],
            "`notifications.mail.security` is `none`, and `notifications.mail.host` is not this machine",
            "use `starttls` or `tls`, or `127.0.0.1` for a server on this machine",
        );
    }
}

fn credentials(config: &Config, reader: &mut Reader<'_>) {
    let credentials = &config.credentials;
    let sources = || ("credentials.sources", credentials.sources.shown());
    if credentials.sources.contains(&SecretSource::AgeFile) {
        let parts = [
            ("credentials.age_file", &credentials.age_file),
            ("credentials.age_identity", &credentials.age_identity),
        ];
        for (path, file) in parts {
            if file.is_none() {
                reader.combination(
                    &[sources(), (path, file.shown())],
                    &format!("`credentials.sources` has `age_file`, and `{path}` is not set"),
                    &format!("set `{path}` to an absolute path, or take `age_file` out of `sources`"),
                );
            }
        }
    }
    if credentials.sources.contains(&SecretSource::Command)
        && let Some(fault) = command_fault(&credentials.command)
    {
        reader.combination(
            &[("credentials.command", credentials.command.told()), sources()],
            &format!("`credentials.sources` has `command`, and {fault}"),
            "for example `command: [/usr/bin/pass, show, \"{name}\"]`, or take `command` out of `sources`",
        );
    }
}

/// The same that the guard asks for when it is made, said here with the place.
fn guard(config: &Config, reader: &mut Reader<'_>) {
    let patterns = &config.guard.custom_patterns;
    if patterns.is_empty() {
        return;
    }
    let custom = patterns.iter().map(CustomPattern::from).collect();
    if let Err(wrong) = Guard::new(&Settings { custom, ..Settings::default() }) {
        reader.combination(
            &[("guard.custom_patterns", patterns.told())],
            &format!("`guard.custom_patterns` cannot be used: {wrong}"),
            "mend the pattern that is named, or take it out of the list",
        );
    }
}

/// A target is known by its name: two of them would write one story.
fn steward(config: &Config, reader: &mut Reader<'_>) {
    let targets = &config.steward.targets;
    let twice =
        targets.iter().enumerate().find(|(at, target)| targets[..*at].iter().any(|t| t.name == target.name));
    if let Some((_, target)) = twice {
        reader.combination(
            &[("steward.targets", targets.shown())],
            &format!("`steward.targets` has two targets named `{}`", target.name),
            "give each target a name of its own",
        );
    }
}

/// A forge is a server, and takes nothing from strangers.
fn history(config: &Config, reader: &mut Reader<'_>) {
    let history = &config.steward.history;
    if history.forge == Forge::Nobody {
        return;
    }
    let forge = || ("steward.history.forge", history.forge.shown());
    if !history.remote.as_ref().is_some_and(RemoteUrl::is_on_the_web) {
        reader.combination(
            &[forge(), ("steward.history.remote", history.remote.told())],
            "`steward.history.forge` is set, and `steward.history.remote` is no repository on a server",
            "set `remote` to `https://host/owner/name.git`, or `forge: none`",
        );
    }
    if history.token.is_none() {
        reader.combination(
            &[forge(), ("steward.history.token", history.token.shown())],
            "`steward.history.forge` is set, and `steward.history.token` is not",
            "set `token` to `{ secret: name }`, or `forge: none`",
        );
    }
}

impl From<&Pattern> for CustomPattern {
    fn from(pattern: &Pattern) -> CustomPattern {
        let Pattern { name, regex, replacement, block, found, kept } = pattern.clone();
        CustomPattern { name, regex, replacement, block, found, kept }
    }
}

/// The same that the source asks for when it is made, said here with the places.
fn command_fault(command: &[Argument]) -> Option<&'static str> {
    let arguments = match command {
        [program, arguments @ ..] if program.as_str().starts_with('/') => arguments,
        _ => return Some("`credentials.command` does not begin with the absolute path of a program"),
    };
    let named = arguments.iter().any(|argument| argument.as_str().contains("{name}"));
    (!named).then_some(
        "no argument in `credentials.command` has `{name}`, so it would print the same for every secret",
    )
}
