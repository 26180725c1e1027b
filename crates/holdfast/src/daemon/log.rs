//! The daemon's log: lines on stderr, without secrets, for people or as JSON, with a level that can change while it runs.

use std::io::IsTerminal;

use holdfast_config as config;
use holdfast_config::Config;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, reload};

use crate::house::now;
use crate::office::Apply;
use crate::sieve::LogLines;

/// A handle on the level.
#[derive(Debug)]
pub(crate) struct Level(reload::Handle<LevelFilter, Registry>);

impl Apply for Level {
    fn apply(&self, config: &Config) {
        // It fails only when the subscriber is gone, and then nothing is logged any more anyway.
        let _ = self.0.reload(filter(config.log.level));
    }
}

/// Sets up the log of this process.
pub(crate) fn start(log: &config::Log) -> Level {
    let config::Log { level, format } = log;
    let (filter, handle) = reload::Layer::new(filter(*level));
    let sieve = match format {
        config::Format::Json => LogLines::Json,
        config::Format::Text => LogLines::Text,
    };
    let lines =
        tracing_subscriber::fmt::layer().with_writer(move || sieve).with_timer(Clock).with_target(false);
    let lines = match format {
        config::Format::Json => lines.json().flatten_event(true).boxed(),
        config::Format::Text => lines.with_ansi(std::io::stderr().is_terminal() && no_color_unset()).boxed(),
    };
    // A second daemon in one process does not exist; were there one, it would log where the first does.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    Level(handle)
}

fn no_color_unset() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

const fn filter(level: config::Level) -> LevelFilter {
    match level {
        config::Level::Error => LevelFilter::ERROR,
        config::Level::Warn => LevelFilter::WARN,
        config::Level::Info => LevelFilter::INFO,
        config::Level::Debug => LevelFilter::DEBUG,
        config::Level::Trace => LevelFilter::TRACE,
    }
}

struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, w: &mut Writer<'_>) -> std::fmt::Result {
        write!(w, "{}", now())
    }
}
