//! Which layer wins, what each value remembers, and what a reload would change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{FULL, good, read, with};
use holdfast_config::{Config, Layer, Level, Loaded, changes};

fn level(loaded: &Loaded) -> (Level, Layer) {
    (loaded.config.log.level, loaded.layer("log.level").unwrap().clone())
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let file = "version: 1\nlog:\n  level: warn\n";
    let variable = ("HOLDFAST_LOG__LEVEL", "debug");
    let environment = Layer::Environment { variable: variable.0.into() };
    let check = |loaded: Loaded, value, layer| assert_eq!(level(&loaded), (value, layer));
    check(good("version: 1\n"), Level::Info, Layer::Default);
    check(good(file), Level::Warn, Layer::File { line: 3, column: 10 });
    check(with(file, &[variable], &[]).unwrap(), Level::Debug, environment);
    check(with(file, &[variable], &["log.level=trace"]).unwrap(), Level::Trace, Layer::Flag);
    check(with(file, &[], &["log.level=trace", "log.level=error"]).unwrap(), Level::Error, Layer::Flag);
}

#[test]
fn layers_meet_key_by_key() {
    let file = "version: 1\nnotifications:\n  webhook:\n    url: { secret: from-file }\n";
    let environment = [
        ("HOLDFAST_NOTIFICATIONS__WEBHOOK__SIGN_WITH", "{ secret: from-environment }"),
        ("HOLDFAST_NOTIFICATIONS__CHANNELS", "[webhook]"),
    ];
    let loaded = with(file, &environment, &["notifications.webhook.timeout_seconds=7"]).unwrap();
    let webhook = &loaded.config.notifications.webhook;
    assert_eq!(webhook.url.as_ref().unwrap().name(), "from-file");
    assert_eq!(webhook.sign_with.as_ref().unwrap().name(), "from-environment");
    assert_eq!(webhook.timeout_seconds, 7);
    let shown: Vec<String> = loaded
        .rows()
        .iter()
        .filter(|row| row.layer != Layer::Default)
        .map(|row| format!("{}: {} ({})", row.path, row.value, row.layer))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    notifications.channels: [webhook] (environment, HOLDFAST_NOTIFICATIONS__CHANNELS)
    notifications.webhook.url: { secret: from-file } (file, line 4, column 10)
    notifications.webhook.sign_with: { secret: from-environment } (environment, HOLDFAST_NOTIFICATIONS__WEBHOOK__SIGN_WITH)
    notifications.webhook.timeout_seconds: 7 (flag --set)
    ");
}

#[test]
fn a_higher_layer_can_unset_what_is_optional() {
    let file = "version: 1\njournal:\n  archive: /srv/archive\n";
    let loaded = with(file, &[("HOLDFAST_JOURNAL__ARCHIVE", "null")], &[]).unwrap();
    assert_eq!(loaded.config.journal.archive, None);
}

#[test]
fn variables_of_others_and_secrets_are_passed_over() {
    let others = [
        ("HOLDFAST_HOME", "/srv"),
        ("HOLDFAST_SEED", "7"),
        ("HOLDFAST_SECRET_WEBHOOK__KEY", "a secret with two underscores in its name"),
        ("PATH__X", "/bin"),
        ("holdfast_log__level", "loud"),
    ];
    assert_eq!(with("", &others, &[]).unwrap(), good(""));
}

#[test]
fn nothing_written_means_the_defaults() {
    for file in
        ["", "\n", "# only\n# comments\n", "---\n", "\u{feff}", "\u{feff}# comment\r\n", "version: 1\n"]
    {
        assert_eq!(good(file).config, Config::default(), "{file:?}");
    }
    let empty_sections = "version: 1\nlog:\nhealth: {}\nnotifications:\n  webhook:\n";
    assert_eq!(good(empty_sections).config, Config::default());
}

#[test]
fn a_file_from_windows_reads_the_same() {
    let windows = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
    assert_eq!(good(&windows), good(FULL));
    let error = read("version: 1\r\nlog:\r\n  level: loud\r\n").unwrap_err();
    let first = &error.diagnostics().unwrap().first()[0];
    assert_eq!((first.place.line, first.place.column, first.place.len), (3, 10, 4));
    assert!(!error.diagnostics().unwrap().render().contains('\r'));
}

#[test]
fn json_is_yaml() {
    let loaded = good(r#"{"version": 1, "log": {"level": "debug"}, "notifications": {"channels": ["log"]}}"#);
    assert_eq!(loaded.config.log.level, Level::Debug);
}

#[test]
fn a_reload_tells_what_is_live_and_what_waits() {
    let before = good("version: 1\n");
    let after = good("version: 1\nlog:\n  level: debug\n  format: json\nbackup: { keep: 3 }\n");
    let told: Vec<String> = changes(&before.config, &after.config)
        .iter()
        .map(|c| {
            format!("{} {} -> {} {}", c.path, c.before, c.after, if c.live { "live" } else { "restart" })
        })
        .collect();
    assert_eq!(
        told,
        ["log.level info -> debug live", "log.format text -> json restart", "backup.keep 7 -> 3 live"]
    );
    assert_eq!(changes(&before.config, &before.config), []);
}

#[test]
fn the_limits_are_what_the_journal_would_take() {
    let journal = Config::default().journal;
    let expected = holdfast_journal::Limits::default();
    let mib = |n: u32| u64::from(n) * 1024 * 1024;
    let limits = |journal: &holdfast_config::Journal| holdfast_journal::Limits {
        segment_bytes: mib(journal.segment_mib),
        segment_age: std::time::Duration::from_secs(u64::from(journal.segment_age_minutes) * 60),
        checkpoint_every: u64::from(journal.checkpoint_every),
        keep_segments: journal.keep_segments as usize,
        warn_bytes: mib(journal.warn_mib),
        cap_bytes: mib(journal.cap_mib),
    };
    assert_eq!(limits(&journal), expected);
    let mut seen = [0, 0];
    for (segment, keep, warn, cap) in (0..256u32).map(|n| {
        let pick = |shift: u32, values: [u32; 4]| values[(n >> shift & 3) as usize];
        (
            pick(0, [1, 2, 10, 1024]),
            pick(2, [1, 2, 10, 100]),
            pick(4, [1, 20, 100, 1000]),
            pick(6, [2, 20, 101, 5000]),
        )
    }) {
        let file = format!(
            "version: 1\njournal: {{ segment_mib: {segment}, keep_segments: {keep}, warn_mib: {warn}, cap_mib: {cap} }}\n"
        );
        let journal = holdfast_config::Journal {
            segment_mib: segment,
            keep_segments: keep,
            warn_mib: warn,
            cap_mib: cap,
            ..journal.clone()
        };
        let taken = read(&file).is_ok();
        assert_eq!(taken, limits(&journal).check().is_ok(), "{file}");
        seen[usize::from(taken)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
}

#[test]
fn the_arguments_of_a_command_are_counted_and_not_shown() {
    let file = |arguments: &str| format!("version: 1\ncredentials:\n  command: [{arguments}]\n");
    let loaded = good(&file("/usr/bin/op, --token, MARKER, \"{name}\""));
    let row = loaded.rows().into_iter().find(|row| row.path == "credentials.command").unwrap();
    assert_eq!(row.value, "[/usr/bin/op, … 3 arguments]");
    let other = good(&file("/usr/bin/op, --token, OTHER MARKER, \"{name}\""));
    let told = changes(&loaded.config, &other.config);
    assert_eq!((told.len(), told[0].path.as_str()), (1, "credentials.command"));
    assert!(!format!("{loaded:?} {other:?} {told:?} {:?}", loaded.rows()).contains("MARKER"));
    // What is digested and compared is exact.
    assert_ne!(loaded.effective_text(), other.effective_text());
    assert_eq!(good(&loaded.effective_text()).config, loaded.config);
    let shown =
        |arguments| good(&file(arguments)).rows().into_iter().find(|row| row.path == "credentials.command");
    assert_eq!(shown("/usr/bin/op").unwrap().value, "[/usr/bin/op]");
    assert_eq!(shown("/usr/bin/op, MARKER").unwrap().value, "[/usr/bin/op, … 1 argument]");
    assert_eq!(shown("MARKER").unwrap().value, "[… 1 argument]", "not a program");
    assert_eq!(shown("").unwrap().value, "[]");
}
