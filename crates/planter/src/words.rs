//! Innocent words: people, machines, names in code, dates, and sentences of the kind that fill files.

use crate::rng::Rng;
use crate::template::span;

const FIRST: &[&str] = &[
    "anna", "bela", "carlos", "dana", "erik", "farah", "goran", "hana", "ivo", "jonas", "kira", "lena",
    "marek", "nadia", "oskar", "petra", "quentin", "rosa", "samir", "tara", "ulrike", "victor", "wanda",
    "yusuf", "zoe",
];
const LAST: &[&str] = &[
    "almeida", "becker", "costa", "dubois", "eriksen", "fischer", "garcia", "horvat", "ivanov", "jansen",
    "kowalski", "larsen", "moreau", "novak", "okafor", "petrov", "quist", "rossi", "silva", "tanaka",
    "vogel", "weber", "yilmaz",
];
const NOUNS: &[&str] = &[
    "order",
    "invoice",
    "account",
    "customer",
    "report",
    "session",
    "product",
    "payment",
    "shipment",
    "message",
    "ticket",
    "project",
    "document",
    "profile",
    "inventory",
    "warehouse",
    "schedule",
    "contract",
    "metric",
    "device",
    "region",
    "catalog",
    "review",
    "subscription",
    "webhook",
    "address",
    "vehicle",
    "booking",
    "article",
    "channel",
];
const VERBS: &[&str] = &[
    "load",
    "fetch",
    "build",
    "render",
    "update",
    "validate",
    "send",
    "parse",
    "create",
    "resolve",
    "collect",
    "merge",
    "compute",
    "archive",
    "publish",
    "notify",
    "normalize",
    "convert",
    "enqueue",
    "refresh",
];
const SERVICES: &[&str] = &[
    "billing",
    "ledger",
    "gateway",
    "search",
    "mailer",
    "reports",
    "catalog",
    "portal",
    "scheduler",
    "ingest",
    "storefront",
    "tracker",
    "notifier",
    "archive",
    "inventory",
    "identity",
    "analytics",
    "crawler",
    "relay",
    "dispatch",
];
const ROLES: &[&str] = &["db", "web", "cache", "queue", "mail", "api", "proxy", "build", "files", "metrics"];
const DOMAINS: &[&str] = &[
    "northwind-labs.com",
    "brightfield.io",
    "kestrel-systems.net",
    "ottoware.de",
    "lumenpost.com",
    "harborline.eu",
    "tallpine.dev",
    "greyfox.cloud",
    "papermill.app",
    "quartzbank.com",
];
const CITIES: &[&str] =
    &["Lisbon", "Gdansk", "Utrecht", "Oslo", "Graz", "Porto", "Malmo", "Lyon", "Bergen", "Turin"];
const USERS: &[&str] =
    &["admin", "deploy", "root", "app", "svc_backup", "postgres", "reporting", "jenkins", "operator"];
const SENTENCES: &[&str] = &[
    "The cache is filled on the first request and kept for an hour.",
    "Retries are handled by the queue, so this call may fail.",
    "Keep this list in the order of the migration files.",
    "Values are in cents to avoid rounding.",
    "This runs once a night after the reports are closed.",
    "See the runbook before changing the defaults.",
    "Dates are stored in UTC and shown in the customer's zone.",
    "The upstream service answers slowly on Mondays.",
    "Only used by the import job; remove it with the old exporter.",
    "Limits were chosen after the load test in March.",
    "Sorting happens in the database, not here.",
    "The order of these steps matters.",
    "Anything larger is split into batches.",
    "We copy the row first so that a failure leaves the original.",
    "An empty answer means there is nothing to do.",
    "Connections are pooled; do not open one per request.",
    "The old format is still read but no longer written.",
    "Feature flags are read at start and never again.",
];

pub(crate) fn draw(rng: &mut Rng, name: &str, argument: &str) -> Option<String> {
    let noun = |rng: &mut Rng| rng.word(NOUNS);
    Some(match name {
        "first" => rng.word(FIRST).to_owned(),
        "First" => capital(rng.word(FIRST)),
        "Last" => capital(rng.word(LAST)),
        "user" => user(rng),
        "email" => format!("{}.{}@{}", rng.word(FIRST), rng.word(LAST), rng.word(DOMAINS)),
        "domain" => rng.word(DOMAINS).to_owned(),
        "host" => format!("{}{:02}.{}", rng.word(ROLES), rng.within(1..=19), rng.word(DOMAINS)),
        "hostname" => format!("{}-{}-{:02}", rng.word(SERVICES), rng.word(ROLES), rng.within(1..=19)),
        "ip" => format!("10.{}.{}.{}", rng.below(250), rng.below(250), rng.within(1..=250)),
        "city" => rng.word(CITIES).to_owned(),
        "svc" => rng.word(SERVICES).to_owned(),
        "Svc" => capital(rng.word(SERVICES)),
        "noun" => noun(rng).to_owned(),
        "Noun" => capital(noun(rng)),
        "verb" => rng.word(VERBS).to_owned(),
        "Verb" => capital(rng.word(VERBS)),
        "snake" => format!("{}_{}", rng.word(VERBS), noun(rng)),
        "camel" => format!("{}{}", rng.word(VERBS), capital(noun(rng))),
        "Camel" => format!("{}{}", capital(rng.word(SERVICES)), capital(noun(rng))),
        "slug" => format!("{}-{}", rng.word(SERVICES), noun(rng)),
        "ENV" => format!("{}_{}", rng.word(SERVICES), noun(rng)).to_uppercase(),
        "sentence" => rng.word(SENTENCES).to_owned(),
        "ver" => format!("{}.{}.{}", rng.below(9), rng.below(30), rng.below(15)),
        "date" => date(rng),
        "time" => format!("{:02}:{:02}:{:02}", rng.below(24), rng.below(60), rng.below(60)),
        "iso" => format!("{}T{:02}:{:02}:{:02}Z", date(rng), rng.below(24), rng.below(60), rng.below(60)),
        "loop" => prose(rng, argument),
        // Ends of addresses of registries: written out, they would look like addresses this build depends on.
        "org" | "io" => name.to_owned(),
        _ => return None,
    })
}

/// A name written `LIKE_THIS`, in another way.
pub(crate) fn in_case(name: &str, case: &str) -> Option<String> {
    let parts: Vec<String> = name.split('_').map(str::to_lowercase).collect();
    let camel = || parts.iter().map(|p| capital(p)).collect::<String>();
    Some(match case {
        "ENV" => name.to_owned(),
        "snake" => parts.join("_"),
        "kebab" => parts.join("-"),
        "dot" => parts.join("."),
        "Camel" => camel(),
        "camel" => {
            let rest: String = parts.iter().skip(1).map(|p| capital(p)).collect();
            format!("{}{rest}", parts[0])
        }
        "words" => format!("{} {}", capital(&parts[0]), parts[1..].join(" ")),
        _ => return None,
    })
}

fn user(rng: &mut Rng) -> String {
    if rng.percent(50) {
        return rng.word(USERS).to_owned();
    }
    format!("{}.{}", rng.word(FIRST), rng.word(LAST)).replace('.', if rng.percent(50) { "_" } else { "" })
}

fn date(rng: &mut Rng) -> String {
    format!("{}-{:02}-{:02}", rng.within(2019..=2026), rng.within(1..=12), rng.within(1..=28))
}

/// So many sentences, one behind the other.
fn prose(rng: &mut Rng, argument: &str) -> String {
    let n = rng.within(span(argument).unwrap_or(1..=3));
    (0..n).map(|_| rng.word(SENTENCES)).collect::<Vec<_>>().join(" ")
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_in_every_way() {
        for (case, expected) in [
            ("ENV", "SLACK_BOT_TOKEN"),
            ("snake", "slack_bot_token"),
            ("kebab", "slack-bot-token"),
            ("dot", "slack.bot.token"),
            ("Camel", "SlackBotToken"),
            ("camel", "slackBotToken"),
            ("words", "Slack bot token"),
        ] {
            assert_eq!(in_case("SLACK_BOT_TOKEN", case).as_deref(), Some(expected), "{case}");
        }
        assert_eq!(in_case("A", "sideways"), None);
    }
}
