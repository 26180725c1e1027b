//! From configuration to the rooms: each section is taken apart whole, so that a key nobody uses does not compile
//! without a warning.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast_config as config;
use holdfast_config::{Config, Loaded, SecretRef, SecretSource};
use holdfast_credentials::{
    AgeFile, CommandSource, Credentials, Environment, Secret, SecretName, Source as CredentialSource,
};
use holdfast_history::{Address as RemoteAddress, Elsewhere, Forge, ForgeKind, Remote};
use holdfast_journal::{Archive, DirArchive, Limits};
use holdfast_notice::{
    AllowHosts, Channel, Discord, LogFile, Login, Mail, MailSettings, Mailbox, Ntfy, QuietHours, Security,
    Severity, Sink, SinkName, Slack, Webhook,
};
use holdfast_screen::{PersonalData, Rules};
use holdfast_types::Clock;

use crate::house::reading;
use crate::places::Places;
use crate::problem::{CliError, Result};

const MIB: u64 = 1024 * 1024;

/// What is laid over the file: variables of the process and `--set` flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) sets: Vec<String>,
}

impl Overlay {
    /// This process's own variables. One that is not UTF-8 cannot be a setting and is passed over.
    pub(crate) fn of_this_process(sets: &[String]) -> Overlay {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Overlay { environment: std::env::vars_os().filter_map(text).collect(), sets: sets.to_vec() }
    }
}

pub(crate) fn load(places: &Places, overlay: &Overlay) -> Result<Loaded, config::Error> {
    config::load(&places.config(), &overlay.environment, &overlay.sets)
}

/// The journal's limits and its archive.
pub(crate) fn journal(config: &config::Journal) -> Result<(Limits, Option<Arc<dyn Archive>>)> {
    let config::Journal {
        segment_mib,
        segment_age_minutes,
        checkpoint_every,
        keep_segments,
        warn_mib,
        cap_mib,
        archive,
    } = config;
    let limits = Limits {
        segment_bytes: u64::from(*segment_mib) * MIB,
        segment_age: Duration::from_secs(u64::from(*segment_age_minutes) * 60),
        checkpoint_every: u64::from(*checkpoint_every),
        keep_segments: *keep_segments as usize,
        warn_bytes: u64::from(*warn_mib) * MIB,
        cap_bytes: u64::from(*cap_mib) * MIB,
    };
    let open = |path: &Path| -> Result<Arc<dyn Archive>> {
        Ok(Arc::new(DirArchive::new(path).map_err(|e| reading(path, e))?))
    };
    Ok((limits, archive.as_ref().map(|path| open(path.as_path())).transpose()?))
}

/// The rules that texts are sieved and screened with.
pub(crate) fn rules(config: &config::Guard) -> Result<Arc<Rules>> {
    if *config == config::Guard::default() {
        return Ok(Arc::new(Rules::builtin()));
    }
    let config::Guard { entropy_threshold, min_entropy_length, personal_data_in_journal, custom_patterns } =
        config;
    let people = match personal_data_in_journal {
        config::PersonalData::Keep => PersonalData::Keep,
        config::PersonalData::Redact => PersonalData::Redact,
    };
    let settings = holdfast_guard::Settings {
        entropy_threshold: entropy_threshold.as_f32(),
        shortest_random: *min_entropy_length as usize,
        custom: custom_patterns.iter().map(Into::into).collect(),
    };
    // The configuration is refused when a pattern is wrong.
    let wrong = |e: holdfast_guard::RuleError| CliError::Usage { message: e.to_string() };
    Ok(Arc::new(Rules::new(&settings, people).map_err(wrong)?))
}

/// The rules of a home. A wrong configuration is somebody else's news: the built-in rules hold in any case.
pub(crate) fn rules_of_home(places: &Places) -> Arc<Rules> {
    let loaded = load(places, &Overlay::of_this_process(&[])).ok();
    let own = loaded.and_then(|loaded| rules(&loaded.config.guard).ok());
    own.unwrap_or_else(|| Arc::new(Rules::builtin()))
}

/// Where secrets are looked for.
pub(crate) fn credentials(config: &config::Credentials) -> Result<Credentials> {
    credentials_within(config, Duration::MAX)
}

/// The same, for somebody who has less time than the configuration gives a source.
pub(crate) fn credentials_within(config: &config::Credentials, at_most: Duration) -> Result<Credentials> {
    let config::Credentials { sources, age_file, age_identity, environment_prefix, command, timeout_seconds } =
        config;
    let limit = Duration::from_secs(u64::from(*timeout_seconds)).min(at_most);
    let path = |path: &Option<config::AbsolutePath>| -> PathBuf {
        // The configuration is refused when a named source lacks its paths.
        path.as_ref().map(config::AbsolutePath::to_path_buf).unwrap_or_default()
    };
    let source = |source: &SecretSource| -> Result<CredentialSource> {
        Ok(match source {
            SecretSource::Systemd => CredentialSource::Systemd,
            SecretSource::AgeFile => {
                CredentialSource::AgeFile(AgeFile::new(path(age_file), path(age_identity))?)
            }
            SecretSource::Environment => {
                CredentialSource::Environment(Environment::new(environment_prefix.as_str())?)
            }
            SecretSource::Command => {
                let argv: Vec<String> = command.iter().map(|word| word.as_str().to_owned()).collect();
                CredentialSource::Command(CommandSource::new(&argv, limit)?)
            }
        })
    };
    Ok(Credentials::new(sources.iter().map(source).collect::<Result<_>>()?))
}

/// Where notices go. A channel whose secrets cannot be had is an error: silence must not look like peace.
pub(crate) fn channels(config: &Config, places: &Places, clock: &Arc<dyn Clock>) -> Result<Vec<Channel>> {
    each_channel(config, places, clock)?.into_iter().map(|(_, channel)| channel).collect()
}

/// The same, each for itself, for somebody who wants to know of every one how it is.
pub(crate) fn each_channel(
    config: &Config,
    places: &Places,
    clock: &Arc<dyn Clock>,
) -> Result<Vec<(&'static str, Result<Channel>)>> {
    Ok(channels_with(config, places, clock, &credentials(&config.credentials)?))
}

fn channels_with(
    config: &Config,
    places: &Places,
    clock: &Arc<dyn Clock>,
    credentials: &Credentials,
) -> Vec<(&'static str, Result<Channel>)> {
    let config::Notifications {
        enabled,
        min_severity,
        channels,
        webhook,
        slack,
        discord,
        ntfy,
        mail,
        alive: _,
    } = &config.notifications;
    if !enabled {
        return Vec::new();
    }
    let mut names: Vec<config::Channel> = channels.clone();
    // The log is always there: whatever else fails, there is one place to look.
    if !names.contains(&config::Channel::Log) {
        names.push(config::Channel::Log);
    }
    let secrets = Secrets(credentials);
    let manner = |own: Option<config::Severity>, quiet: &Option<config::QuietHours>| {
        let quiet = quiet.as_ref().map(|hours| QuietHours::read(hours.as_str())).transpose()?;
        Ok::<_, crate::problem::Failure>((severity(own.unwrap_or(*min_severity)), quiet))
    };
    let channel = |channel: config::Channel| -> Result<Channel> {
        let ((min_severity, quiet), sink): (_, Arc<dyn Sink>) = match channel {
            // A file wakes nobody.
            config::Channel::Log => (manner(None, &None)?, Arc::new(LogFile::new(places.notices()))),
            config::Channel::Webhook => {
                let manner = manner(webhook.min_severity, &webhook.quiet_hours)?;
                (manner, Arc::new(the_webhook(webhook, &secrets, clock)?))
            }
            config::Channel::Slack => {
                (manner(slack.min_severity, &slack.quiet_hours)?, Arc::new(the_slack(slack, &secrets)?))
            }
            config::Channel::Discord => {
                let manner = manner(discord.min_severity, &discord.quiet_hours)?;
                (manner, Arc::new(the_discord(discord, &secrets)?))
            }
            config::Channel::Ntfy => {
                (manner(ntfy.min_severity, &ntfy.quiet_hours)?, Arc::new(the_ntfy(ntfy, &secrets)?))
            }
            config::Channel::Mail => {
                (manner(mail.min_severity, &mail.quiet_hours)?, Arc::new(the_mail(mail, &secrets)?))
            }
        };
        let name: SinkName = channel.word().parse()?;
        Ok(Channel { min_severity, quiet, ..Channel::new(name, sink) })
    };
    names.into_iter().map(|name| (name.word(), channel(name))).collect()
}

/// An address that a secret holds. Why there is none is said without it.
pub(crate) fn address(
    reference: &SecretRef,
    sources: &config::Credentials,
) -> std::result::Result<holdfast_probe::Url, String> {
    let name = reference.name();
    let not_there = || format!("the secret `{name}` is not there");
    let known: SecretName = name.parse().map_err(|_| not_there())?;
    let found = credentials(sources).ok().and_then(|all| all.find(&known).ok()).ok_or_else(not_there)?;
    found
        .secret
        .expose()
        .trim()
        .parse()
        .map_err(|_| format!("the secret `{name}` holds no address of a page"))
}

/// Where what was applied is shown to others; nothing where that is nowhere.
pub(crate) fn elsewhere(config: &Config) -> std::result::Result<Option<Elsewhere>, String> {
    let config::History { remote, token, forge, base } = &config.steward.history;
    let Some(remote) = remote else { return Ok(None) };
    let address: RemoteAddress =
        remote.as_str().parse().map_err(|e: holdfast_history::NotAnAddress| e.to_string())?;
    let secret = || -> std::result::Result<Option<Secret>, String> {
        let Some(name) = token.as_ref().map(SecretRef::name) else { return Ok(None) };
        let not_there = || format!("the secret `{name}` is not there");
        let known: SecretName = name.parse().map_err(|_| not_there())?;
        let found = credentials(&config.credentials).ok().and_then(|all| all.find(&known).ok());
        Ok(Some(found.ok_or_else(not_there)?.secret))
    };
    let kind = match forge {
        config::Forge::Nobody => None,
        config::Forge::Forgejo => Some(ForgeKind::Forgejo),
        config::Forge::Github => Some(ForgeKind::Github),
    };
    let forge = match (kind, secret()?) {
        (Some(kind), Some(token)) => {
            Some(Forge::of(kind, &address, base.as_str(), token).map_err(|e| e.to_string())?)
        }
        // The configuration is refused when a forge is named and its token is not.
        _ => None,
    };
    let base = base.as_str().to_owned();
    Ok(Some(Elsewhere { remote: Remote::new(address, secret()?), base, forge }))
}

/// Secrets by the references that name them.
struct Secrets<'a>(&'a Credentials);

impl Secrets<'_> {
    fn find(&self, reference: &SecretRef) -> Result<Secret> {
        let name = reference.name();
        let name: SecretName = name
            .parse()
            .map_err(|_| CliError::Usage { message: format!("{name:?} is not the name of a secret") })?;
        Ok(self.0.find(&name)?.secret)
    }

    /// One that must be there: the configuration is refused when a channel is named and its secrets are not.
    fn needed(&self, reference: &Option<SecretRef>) -> Result<Secret> {
        match reference {
            Some(reference) => self.find(reference),
            None => {
                Err(CliError::Usage { message: "a channel is named and its secret is not".into() }.into())
            }
        }
    }
}

fn the_webhook(webhook: &config::Webhook, secrets: &Secrets<'_>, clock: &Arc<dyn Clock>) -> Result<Webhook> {
    let config::Webhook { url, sign_with, min_severity: _, quiet_hours: _, timeout_seconds, allow_hosts } =
        webhook;
    let (url, key) = (secrets.needed(url)?, secrets.needed(sign_with)?);
    Ok(Webhook::with_limit(url, &key, allowed(allow_hosts), clock.clone(), limit(*timeout_seconds))?)
}

fn the_slack(slack: &config::Slack, secrets: &Secrets<'_>) -> Result<Slack> {
    let config::Slack { url, channel, min_severity: _, quiet_hours: _, timeout_seconds, allow_hosts } = slack;
    let channel = channel.as_ref().map(config::ChatChannel::as_str);
    Ok(Slack::new(secrets.needed(url)?, channel, &allowed(allow_hosts), limit(*timeout_seconds))?)
}

fn the_discord(discord: &config::Discord, secrets: &Secrets<'_>) -> Result<Discord> {
    let config::Discord { url, min_severity: _, quiet_hours: _, timeout_seconds, allow_hosts } = discord;
    Ok(Discord::new(secrets.needed(url)?, &allowed(allow_hosts), limit(*timeout_seconds))?)
}

fn the_ntfy(ntfy: &config::Ntfy, secrets: &Secrets<'_>) -> Result<Ntfy> {
    let config::Ntfy { server: _, topic, token, min_severity: _, quiet_hours: _, timeout_seconds } = ntfy;
    let token = token.as_ref().map(|token| secrets.find(token)).transpose()?;
    Ok(Ntfy::new(ntfy.address(), secrets.needed(topic)?, token, limit(*timeout_seconds))?)
}

fn the_mail(mail: &config::Mail, secrets: &Secrets<'_>) -> Result<Mail> {
    let config::Mail {
        host,
        port,
        security,
        user,
        password,
        from,
        to,
        ca_file,
        min_severity: _,
        quiet_hours: _,
        timeout_seconds,
    } = mail;
    let login = match (user, password) {
        (None, None) => None,
        // The configuration is refused when only one of them is set.
        _ => Some(Login { user: secrets.needed(user)?, password: secrets.needed(password)? }),
    };
    let mailbox = |address: &config::MailAddress| address.as_str().parse::<Mailbox>();
    let settings = MailSettings {
        host: host.as_ref().map(config::HostName::as_str).unwrap_or_default().to_owned(),
        port: u16::try_from(*port).unwrap_or(587),
        security: match security {
            config::MailSecurity::Starttls => Security::StartTls,
            config::MailSecurity::Tls => Security::Tls,
            config::MailSecurity::Nothing => Security::Plain,
        },
        login,
        from: from.as_ref().map(mailbox).unwrap_or(Err(holdfast_notice::Error::Mailbox))?,
        to: to.iter().map(mailbox).collect::<holdfast_notice::Result<_>>()?,
        authorities: ca_file.as_ref().map(|file| Mail::read_authorities(file.as_path())).transpose()?,
    };
    Ok(Mail::new(settings, limit(*timeout_seconds))?)
}

/// Every secret that the settings of notifications name, whether or not its channel is one of those that are used.
pub(crate) fn secrets_of_notifications(config: &Config) -> Vec<&SecretRef> {
    let config::Notifications { webhook, slack, discord, ntfy, mail, alive, .. } = &config.notifications;
    let named = [
        &webhook.url,
        &webhook.sign_with,
        &slack.url,
        &discord.url,
        &ntfy.topic,
        &ntfy.token,
        &mail.user,
        &mail.password,
        &alive.url,
    ];
    named.into_iter().flatten().collect()
}

fn allowed(hosts: &[config::HostName]) -> AllowHosts {
    AllowHosts::new(hosts.iter().map(config::HostName::as_str))
}

fn limit(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

const fn severity(from: config::Severity) -> Severity {
    match from {
        config::Severity::Info => Severity::Info,
        config::Severity::Warning => Severity::Warning,
        config::Severity::Critical => Severity::Critical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Facts;

    fn places(dir: &Path) -> Places {
        Places::find(&Facts { flag: Some(dir.to_owned()), ..Facts::default() }).unwrap()
    }

    /// The channels that a piece of `notifications` leads to, or the code of what is wrong with it.
    fn check(yaml: &str, secrets: &[(&str, &str)], expected: Result<&[(&str, Severity)], &str>) {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("version: 1\ncredentials: {{ sources: [systemd] }}\nnotifications: {yaml}\n");
        let layers =
            config::Layers { file: Some((Path::new("c"), text.as_bytes())), environment: &[], sets: &[] };
        let clock: Arc<dyn Clock> = Arc::new(holdfast_journal::SystemClock::new());
        let found = match Config::read(layers) {
            Err(e) => Err(e.problem().code.to_string()),
            Ok(loaded) => {
                for (name, value) in secrets {
                    holdfast_durable::create(
                        &dir.path().join(name),
                        value.as_bytes(),
                        holdfast_durable::Mode::Private,
                    )
                    .unwrap();
                }
                let variables = holdfast_credentials::Variables::fixed([(
                    "CREDENTIALS_DIRECTORY".to_owned(),
                    dir.path().as_os_str().to_owned(),
                )]);
                let sources = vec![CredentialSource::Systemd];
                let credentials = Credentials::with_variables(sources, variables);
                let made = channels_with(&loaded.config, &places(dir.path()), &clock, &credentials);
                let made: Result<Vec<Channel>> = made.into_iter().map(|(_, channel)| channel).collect();
                match made {
                    Ok(channels) => {
                        Ok(channels.iter().map(|c| (c.name.to_string(), c.min_severity)).collect::<Vec<_>>())
                    }
                    Err(crate::problem::Failure::Problem(problem)) => Err(problem.code.to_string()),
                    Err(crate::problem::Failure::ReaderLeft) => unreachable!("nothing is printed"),
                }
            }
        };
        let found = found.as_ref().map(|list| list.iter().map(|(n, s)| (n.as_str(), *s)).collect::<Vec<_>>());
        assert_eq!(found.map_err(String::as_str), expected.map(<[_]>::to_vec), "{yaml}");
    }

    // shows: HRD-128, HRD-F55
    #[test]
    fn every_setting_of_notifications_takes_effect_and_none_is_passed_over() {
        use Severity::{Critical, Warning};
        let both = "webhook: { url: { secret: url }, sign_with: { secret: key } }";
        let secrets =
            [("url", "https://example.net/hook"), ("key", "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0")];
        check("{}", &[], Ok(&[("log", Warning)]));
        check("{ enabled: false }", &[], Ok(&[]));
        check("{ min_severity: critical }", &[], Ok(&[("log", Critical)]));
        check(
            &format!("{{ channels: [webhook], {both} }}"),
            &secrets,
            Ok(&[("webhook", Warning), ("log", Warning)]),
        );
        // A channel without its address, one that nobody knows, a secret that is not there: each is said.
        check("{ channels: [webhook] }", &[], Err("HF-CFG-001"));
        check("{ channels: [pager] }", &[], Err("HF-CFG-001"));
        check(&format!("{{ channels: [webhook], {both} }}"), &[], Err("HF-CRD-003"));
        // An address that is none, though its secret is there.
        let wrong = [("url", "not an address"), secrets[1]];
        check(&format!("{{ channels: [webhook], {both} }}"), &wrong, Err("HF-NTC-004"));
        // A channel says for itself what it wants to be told.
        let own = "{ channels: [webhook], min_severity: critical, webhook: { url: { secret: url }, \
                   sign_with: { secret: key }, min_severity: info } }";
        check(own, &secrets, Ok(&[("webhook", Severity::Info), ("log", Critical)]));
    }

    // shows: HRD-086
    #[test]
    fn every_kind_of_channel_is_made_of_its_settings() {
        use Severity::{Critical, Info, Warning};
        let slack = "slack: { url: { secret: url }, channel: '#ops', min_severity: critical }";
        let discord = "discord: { url: { secret: url }, quiet_hours: '22:00-07:00 Europe/Brussels' }";
        let ntfy = "ntfy: { topic: { secret: topic }, token: { secret: token }, min_severity: info }";
        let mail = "mail: { host: mail.example.org, from: a@example.org, to: [b@example.org], \
                    user: { secret: topic }, password: { secret: token } }";
        let secrets = [("url", "https://example.net/hook"), ("topic", "house"), ("token", "t")];
        check(
            &format!("{{ channels: [slack, discord, ntfy, mail], {slack}, {discord}, {ntfy}, {mail} }}"),
            &secrets,
            Ok(&[
                ("slack", Critical),
                ("discord", Warning),
                ("ntfy", Info),
                ("mail", Warning),
                ("log", Warning),
            ]),
        );
        // Each is refused for what it lacks, and the log alone would not say that.
        for (yaml, secrets, code) in [
            (format!("{{ channels: [slack], {slack} }}"), &secrets[1..], "HF-CRD-003"),
            (format!("{{ channels: [discord], {discord} }}"), &secrets[1..], "HF-CRD-003"),
            (format!("{{ channels: [ntfy], {ntfy} }}"), &secrets[..2], "HF-CRD-003"),
            (format!("{{ channels: [mail], {mail} }}"), &secrets[..2], "HF-CRD-003"),
            (format!("{{ channels: [slack], {slack} }}"), &[("url", "ftp://example.net")], "HF-NTC-004"),
            (format!("{{ channels: [discord], {discord} }}"), &[("url", "http://example.net")], "HF-NTC-004"),
            (format!("{{ channels: [ntfy], {ntfy} }}"), &[("topic", "a/b"), ("token", "t")], "HF-NTC-004"),
            (
                format!("{{ channels: [discord], {} }}", discord.replace("Brussels", "Atlantis")),
                &secrets[..],
                "HF-NTC-009",
            ),
            (
                format!("{{ channels: [mail], {} }}", mail.replace("mail: {", "mail: { ca_file: /nowhere,")),
                &secrets[..],
                "HF-NTC-012",
            ),
            ("{ channels: [mail] }".to_owned(), &secrets[..], "HF-CFG-001"),
        ] {
            check(&yaml, secrets, Err(code));
        }
    }

    #[test]
    fn every_setting_of_the_guard_takes_effect() {
        use holdfast_journal::{Screen as _, Verdict};
        let check = |yaml: &str, text: &str, expected: &str| {
            let file = format!("version: 1\nguard: {yaml}\n");
            let layers =
                config::Layers { file: Some((Path::new("c"), file.as_bytes())), environment: &[], sets: &[] };
            let loaded = Config::read(layers).unwrap_or_else(|e| panic!("{}", e.problem().what));
            let Ok(rules) = rules(&loaded.config.guard) else { panic!("{yaml}") };
            let found = match holdfast_screen::GuardScreen::new(rules).screen(text) {
                Verdict::Clean => text.to_owned(),
                Verdict::Redacted(clean) => clean,
                Verdict::Blocked { .. } => "(blocked)".to_owned(),
            };
            assert_eq!(found, expected, "{yaml}");
        };
        let mail = "ask ann.miller@corp-mail.net";
        check("{}", mail, mail);
        check("{ personal_data_in_journal: redact }", mail, "ask [REDACTED_EMAIL]");
        let word = "say Zk9vQ2xWb0RtS3hYcE5yTGdJd1V6 now";
        check("{}", word, "say [REDACTED_HIGH_ENTROPY] now");
        check("{ min_entropy_length: 60 }", word, word);
        check("{ entropy_threshold: 8 }", word, word);
        let badge = r#"{ name: badge, regex: "AB-[0-9]{4}""#;
        check(&format!("{{ custom_patterns: [{badge} }}] }}"), "AB-1234", "[REDACTED_BADGE]");
        check(&format!("{{ custom_patterns: [{badge}, block: true }}] }}"), "AB-1234", "(blocked)");
    }

    // shows: HRD-F29
    #[test]
    fn every_key_is_read_by_the_program() {
        let sources = program_text();
        let unused: Vec<&str> = config::outline()
            .keys
            .iter()
            .map(|key| key.path.as_str())
            .filter(|path| !has_word(&sources, path.rsplit('.').next().unwrap_or(path)))
            .collect();
        assert!(unused.is_empty(), "nothing reads {unused:?}");
        assert!(!has_word(&sources, "a_key_that_is_not_there"));
    }

    /// The sources of the binary without their tests, and the one file of the configuration that uses a key itself.
    fn program_text() -> String {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut todo = vec![own.clone(), own.join("../../config/src/combinations.rs")];
        let mut out = String::new();
        while let Some(path) = todo.pop() {
            if path.is_dir() {
                todo.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(path).unwrap();
                out.push_str(text.split("#[cfg(test)]").next().unwrap_or_default());
            }
        }
        out
    }

    fn has_word(text: &str, word: &str) -> bool {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(word).any(|(at, _)| {
            !text[..at].chars().next_back().is_some_and(inside)
                && !text[at + word.len()..].chars().next().is_some_and(inside)
        })
    }
}
