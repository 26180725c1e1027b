//! From configuration to the rooms: each section is taken apart whole, so that a key nobody uses does not compile
//! without a warning.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast_config as config;
use holdfast_config::{Config, Loaded, SecretRef, SecretSource};
use holdfast_credentials::{
    AgeFile, CommandSource, Credentials, Environment, SecretName, Source as CredentialSource,
};
use holdfast_journal::{Archive, DirArchive, Limits};
use holdfast_notice::{AllowHosts, Channel, LogFile, Severity, Sink, SinkName, Webhook};
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

/// Where secrets are looked for.
pub(crate) fn credentials(config: &config::Credentials) -> Result<Credentials> {
    let config::Credentials { sources, age_file, age_identity, environment_prefix, command, timeout_seconds } =
        config;
    let limit = Duration::from_secs(u64::from(*timeout_seconds));
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
    let config::Notifications { enabled, min_severity, channels, webhook } = &config.notifications;
    if !enabled {
        return Ok(Vec::new());
    }
    let min_severity = severity(*min_severity);
    let mut names: Vec<config::Channel> = channels.clone();
    // The log is always there: whatever else fails, there is one place to look.
    if !names.contains(&config::Channel::Log) {
        names.push(config::Channel::Log);
    }
    let channel = |channel: config::Channel| -> Result<Channel> {
        let (name, sink): (&str, Arc<dyn Sink>) = match channel {
            config::Channel::Log => ("log", Arc::new(LogFile::new(places.notices()))),
            config::Channel::Webhook => {
                ("webhook", Arc::new(the_webhook(webhook, &config.credentials, clock)?))
            }
        };
        let name: SinkName = name.parse()?;
        Ok(Channel { min_severity, ..Channel::new(name, sink) })
    };
    names.into_iter().map(channel).collect()
}

fn the_webhook(
    webhook: &config::Webhook,
    sources: &config::Credentials,
    clock: &Arc<dyn Clock>,
) -> Result<Webhook> {
    let config::Webhook { url, sign_with, timeout_seconds, allow_hosts } = webhook;
    let credentials = credentials(sources)?;
    let secret = |reference: &Option<SecretRef>| {
        // The configuration is refused when the channel is named and its secrets are not.
        let name = reference.as_ref().map(SecretRef::name).unwrap_or_default();
        let name: SecretName = name
            .parse()
            .map_err(|_| CliError::Usage { message: format!("{name:?} is not the name of a secret") })?;
        Ok::<_, crate::problem::Failure>(credentials.find(&name)?.secret)
    };
    let limit = Duration::from_secs(u64::from(*timeout_seconds));
    let allow = AllowHosts::new(allow_hosts.iter().map(config::HostName::as_str));
    Ok(Webhook::with_limit(secret(url)?, &secret(sign_with)?, allow, clock.clone(), limit)?)
}

const fn severity(from: config::Severity) -> Severity {
    match from {
        config::Severity::Info => Severity::Info,
        config::Severity::Warning => Severity::Warning,
        config::Severity::Critical => Severity::Critical,
    }
}
